"""Configs in the forms that UMI's programs and their descendants are run with, written for these tests."""

BIMANUAL = """\
# two arms at one table
robots:
  - robot_type: ur5e
    robot_ip: 10.0.0.21
    robot_obs_latency: 0.0002
    robot_action_latency: 0.11
    height_threshold: -0.02
    sphere_center: [0.0, -0.05, -0.2]
    sphere_radius: 0.12
    robot_action_latencey: 3
  - robot_type: franka
    robot_ip: 10.0.0.22
    robot_obs_latency: 0.004
    robot_action_latency: 0.13
    height_threshold: 0.01
    sphere_center: [0.0, -0.05, -0.2]
    sphere_radius: 0.12
grippers:
  - {gripper_ip: 10.0.0.31, gripper_port: 1000, gripper_obs_latency: 0.02, gripper_action_latency: 0.12}
  - {gripper_ip: 10.0.0.32, gripper_port: 1000, gripper_obs_latency: 0.02}
camera_obs_latency: 0.15
tx_left_right: [[1, 0], [0, 1]]
frequency: 20
"""

FLAT = """\
robot_ip: 10.0.0.5
robot_obs_latency: 1e-4
robot_action_latency: 0.1
gripper_action_latency: 0.3
policy_dt: 0.05
n_obs_steps: 2
height_threshold: -0.01
"""
