#include "onbeat/ages.hpp"

#include "check.hpp"

using onbeat::Ages;

int main() {
  Ages ages;
  CHECK(ages.count() == 0 && ages.quantile(0.5) == 0);
  for (int k = 0; k < 100; ++k) ages.add(k < 99 ? 4'950'000 : 10'310'000);
  CHECK(ages.count() == 100);
  CHECK(ages.quantile(0.5) == 5'000'000 && ages.quantile(0.99) == 5'000'000 && ages.quantile(1.0) == 10'400'000);
  ages.add(-5);
  ages.add(INT64_MAX);
  CHECK(ages.quantile(0.001) == 100'000 && ages.quantile(1.0) == 409'600'000);
}
