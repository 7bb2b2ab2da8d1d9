#include <ATen/core/dispatch/Dispatcher.h>
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "facts/op_table.hpp"

TEST_SUITE("op names") {
  TEST_CASE("every row is an op of LibTorch") {
    std::set<std::string> known;
    for (const c10::OperatorName& op : c10::Dispatcher::singleton().getAllOpNames())
      known.insert(op.name);
    for (const ulpscope::facts::Row& row : ulpscope::facts::op_table()) {
      const std::string name(row.name());
      CAPTURE(name);
      const bool there = known.contains("aten::" + name) || known.contains("aten::" + name + "_") ||
                         known.contains("aten::_foreach_" + name);
      CHECK(there);
    }
  }
}
