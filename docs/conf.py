project = "onbeat"
copyright = "the onbeat developers"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "onbeat"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
# The build reads nothing from the network, so that it says the same everywhere.
nitpicky = True
