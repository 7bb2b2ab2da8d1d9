#include "facts/ops.hpp"

#include <doctest/doctest.h>

#include "facts/op_table.hpp"

using namespace ulpscope::facts;

TEST_SUITE("ops") {
  TEST_CASE("every row is found by its name") {
    for (const Row& row : op_table()) {
      CAPTURE(row.name());
      CHECK(Op(row.name()).row().name() == row.name());
      CHECK(Op(row.name()).plain_name() == row.name());
    }
  }

  TEST_CASE("a name is taken apart") {
    const Op op("aten::_foreach_add_");
    CHECK(op.plain_name() == "add");
    CHECK(op.is_foreach());
    CHECK(op.is_in_place());
    CHECK(op.row().name() == "add");
  }

  TEST_CASE("two underscores are part of a name") {
    CHECK(Op("aten::__and__").plain_name() == "__and__");
    CHECK_FALSE(Op("aten::__and__").is_in_place());
  }

  TEST_CASE("an op of another namespace has no facts") {
    CHECK(Op("my::add").plain_name() == "add");
    CHECK(Op("my::add").row().error_model() == ErrorModel::none);
    CHECK_FALSE(Op("my::add").has(fact::symmetric));
  }

  TEST_CASE("an op without a row is classed by the words in its name") {
    CHECK(class_of("my::fused_linear") == OpClass::gemm);
    CHECK(class_of("my::group_norm_silu") == OpClass::normalization);
    CHECK(class_of("my::strange") == OpClass::other);
  }

  TEST_CASE("a row decides where words mislead") {
    CHECK(class_of("aten::logical_and") == OpClass::elementwise);
    CHECK(class_of("aten::expand") == OpClass::elementwise);
    CHECK(class_of("aten::lgamma") == OpClass::transcendental);
    CHECK(class_of("aten::_scaled_dot_product_flash_attention") == OpClass::gemm);
  }

  TEST_CASE("a sum in no fixed order on a CPU's threads is one on a GPU") {
    for (const Row& row : op_table()) {
      CAPTURE(row.name());
      if (row.has(fact::unordered_on_threads)) CHECK(row.has(fact::unordered_on_gpu));
    }
  }

  TEST_CASE("facts of arguments and returns go by their numbers") {
    const Row& batch_norm = Op("aten::native_batch_norm").row();
    CHECK(batch_norm.writes_undeclared(3));
    CHECK(batch_norm.writes_undeclared(4));
    CHECK_FALSE(batch_norm.writes_undeclared(2));
    CHECK_FALSE(batch_norm.is_unspecified(3));
    CHECK(Op("aten::mkldnn_rnn_layer").row().is_unspecified(3));
    CHECK_FALSE(Op("aten::mkldnn_rnn_layer").row().is_unspecified(64));
  }

  TEST_CASE("the backend stands in the name") {
    CHECK(backend_of("aten::mkldnn_convolution") == "mkldnn");
    CHECK(backend_of("aten::add").empty());
  }
}
