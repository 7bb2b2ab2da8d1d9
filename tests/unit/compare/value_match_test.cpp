#include "compare/model/value_match.hpp"

#include "compare/diff/taint.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::comparison;
using namespace ulpscope::test;

namespace {

struct Value {
  Slot slot;
  Geometry geometry;
};

/// A slot over `memory`, with the digests that a recorder gives it.
void fill(Value& value, const std::vector<float>& memory, std::vector<std::int64_t> sizes,
          std::vector<std::int64_t> strides, bool with_logical) {
  value.geometry.dtype = Dtype::float32;
  value.geometry.sizes = std::move(sizes);
  value.geometry.strides = std::move(strides);
  const StridedBytes bytes{reinterpret_cast<const std::byte*>(memory.data()), 4,
                           value.geometry.sizes, value.geometry.strides};
  value.slot.digest = digest_in_memory_order(bytes);
  if (with_logical) {
    value.slot.logical_digest = digest_in_logical_order(bytes);
    value.slot.flags |= slot_flag::logical;
  }
  value.slot.geometry = &value.geometry;
}

[[nodiscard]] Match match_with(std::uint32_t reference_flags, std::uint32_t candidate_flags,
                               Role role = Role::input) {
  Value a;
  Value b;
  fill(a, {1, 2}, {2}, {1}, false);
  fill(b, {1, 3}, {2}, {1}, false);
  a.slot.flags |= reference_flags;
  b.slot.flags |= candidate_flags;
  a.slot.role = b.slot.role = role;
  return match(a.slot, b.slot);
}

}  // namespace

TEST_SUITE("value match") {
  TEST_CASE("layouts compare by the digest of the order that both have") {
    // Logical [[1, 2], [3, 4]] in rows and in columns.
    Value rows;
    Value columns;
    Value other;
    fill(rows, {1, 2, 3, 4}, {2, 2}, {2, 1}, false);
    fill(columns, {1, 3, 2, 4}, {2, 2}, {1, 2}, true);
    fill(other, {1, 2, 3, 4}, {2, 2}, {1, 2}, true);
    CHECK(match(rows.slot, columns.slot) == Match::equal);
    CHECK(match(columns.slot, rows.slot) == Match::equal);
    CHECK(match(columns.slot, other.slot) == Match::differs);

    Value unknown;
    fill(unknown, {1, 3, 2, 4}, {2, 2}, {1, 2}, false);
    CHECK(match(rows.slot, unknown.slot) == Match::layout);
    CHECK(match(columns.slot, unknown.slot) == Match::equal);
  }

  TEST_CASE("what is the same in memory may be read in another order") {
    Value rows;
    Value columns;
    fill(rows, {1, 2, 3, 4}, {2, 2}, {2, 1}, false);
    for (const bool with_logical : {false, true}) {
      fill(columns, {1, 2, 3, 4}, {2, 2}, {1, 2}, with_logical);
      rows.slot.role = columns.slot.role = Role::input;
      CHECK(match(rows.slot, columns.slot) == Match::reordered);
      rows.slot.role = columns.slot.role = Role::output;
      CHECK(match(rows.slot, columns.slot) == (with_logical ? Match::differs : Match::layout));
    }
  }

  TEST_CASE("gaps between elements do not matter") {
    Value packed;
    Value sliced;
    fill(packed, {1, 2, 3, 4}, {2, 2}, {2, 1}, false);
    fill(sliced, {1, 2, 0, 3, 4, 0}, {2, 2}, {3, 1}, false);
    CHECK(match(packed.slot, sliced.slot) == Match::equal);
  }

  TEST_CASE("expanded and materialised values have no common digest") {
    Value expanded;
    Value full;
    fill(expanded, {1, 2}, {3, 2}, {0, 1}, false);
    fill(full, {1, 2, 1, 2, 1, 2}, {3, 2}, {2, 1}, false);
    CHECK(match(expanded.slot, full.slot) == Match::layout);
  }

  TEST_CASE("dimensions of size 1 have no order") {
    Value a;
    Value b;
    fill(a, {1, 2}, {1, 2}, {2, 1}, false);
    fill(b, {1, 2}, {1, 2}, {1, 1}, false);
    CHECK(match(a.slot, b.slot) == Match::equal);
  }

  TEST_CASE("what is not meant to be compared is set aside by its flag") {
    CHECK(match_with(0, 0) == Match::differs);
    CHECK(match_with(slot_flag::overwritten, slot_flag::overwritten) == Match::aside);
    CHECK(match_with(slot_flag::view, 0) == Match::aside);
    CHECK(match_with(slot_flag::scratch, slot_flag::scratch) == Match::aside);
    CHECK(match_with(slot_flag::metadata_only, 0) == Match::aside);
    CHECK(match_with(slot_flag::handle, slot_flag::handle) == Match::handle);
    CHECK(match_with(slot_flag::opaque, 0) == Match::opaque);
    CHECK(match_with(slot_flag::no_digest, 0) == Match::opaque);
    CHECK(match_with(slot_flag::undefined, slot_flag::undefined) == Match::aside);
    CHECK(match_with(slot_flag::undefined, 0) == Match::one_sided);
    CHECK(match_with(slot_flag::uninitialised, 0) == Match::differs);
    CHECK(match_with(slot_flag::uninitialised, 0, Role::output) == Match::uninitialised);
    CHECK(match_with(slot_flag::uninitialised, 0, Role::mutated) == Match::uninitialised);
  }

  TEST_CASE("values without elements are equal, whatever their digests") {
    Value a;
    Value b;
    fill(a, {}, {0, 3}, {3, 1}, false);
    fill(b, {}, {0, 3}, {3, 1}, false);
    b.slot.digest.low ^= 1;
    CHECK(match(a.slot, b.slot) == Match::equal);
  }

  TEST_CASE("the same elements in another shape are no difference, another number of them is") {
    Value a;
    Value b;
    fill(a, {1, 2}, {2}, {1}, false);
    fill(b, {1, 2}, {1, 2}, {2, 1}, false);
    CHECK(match(a.slot, b.slot) == Match::reshaped);
    fill(b, {1, 3}, {1, 2}, {2, 1}, false);
    CHECK(match(a.slot, b.slot) == Match::metadata);
    fill(b, {1, 2, 3}, {3}, {1}, false);
    CHECK(match(a.slot, b.slot) == Match::metadata);
    b.geometry = a.geometry;
    b.geometry.dtype = Dtype::int32;
    CHECK(match(a.slot, b.slot) == Match::metadata);
  }
}

TEST_SUITE("layout") {
  TEST_CASE("another memory format is noted and names the cause where bits follow") {
    const auto program = [](bool part) {
      return [part](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor x =
            changed ? run.op("aten::load").out_strided(Values({1, 3, 2, 4}), {2, 2}, {1, 2})
                    : run.op("aten::load").out(Values({2, 2}, {1, 2, 3, 4}));
        run.op("aten::convolution").in(x, "input").out(labelled(part && changed ? "b" : "a"));
      };
    };
    const Report equal = report_of(program(false));
    CHECK(equal.verdict == Verdict::identical);
    REQUIRE_FALSE(equal.findings.empty());
    for (const Finding& finding : equal.findings) {
      CHECK(finding.kind == FindingKind::metadata);
      CHECK_FALSE(finding.diverges);
    }
    const Report apart = report_of(program(true));
    REQUIRE(diverging(apart) == 1);
    CHECK(apart.findings[0].op == "aten::convolution");
    CHECK(cause_ids(apart) == "layout");
  }
}

TEST_SUITE("taint") {
  TEST_CASE("is kept by byte range") {
    TaintTable table;
    Value whole;
    fill(whole, {1, 2, 3, 4}, {4}, {1}, false);
    whole.slot.storage = 7;
    Value left = whole;
    left.geometry.sizes = {2};
    left.slot.geometry = &left.geometry;
    Value right = left;
    right.geometry.storage_offset = 2;
    right.slot.geometry = &right.geometry;
    whole.slot.geometry = &whole.geometry;

    table.taint(whole.slot, {3, 0}, 0);
    CHECK(table.find(left.slot, 0)->finding == 3);
    table.clear(left.slot);
    CHECK_FALSE(table.find(left.slot, 0).has_value());
    CHECK(table.find(right.slot, 0).has_value());
    CHECK(table.find(whole.slot, 0).has_value());
    table.clear(right.slot);
    CHECK(table.empty());
  }

  TEST_CASE("what was written before does not clear what was written later") {
    TaintTable table;
    Value later;
    fill(later, {1, 2}, {2}, {1}, false);
    later.slot.storage = 7;
    later.slot.writes = 3;
    Value earlier = later;
    earlier.slot.geometry = &earlier.geometry;
    earlier.slot.writes = 2;

    table.taint(later.slot, {}, 0);
    table.clear(earlier.slot);
    CHECK(table.find(later.slot, 0).has_value());
    table.clear(later.slot);
    CHECK(table.empty());
  }

  TEST_CASE("a value with gaps clears nothing") {
    TaintTable table;
    Value whole;
    fill(whole, {1, 2, 3, 4}, {4}, {1}, false);
    whole.slot.storage = 7;
    Value column = whole;
    column.geometry.sizes = {2};
    column.geometry.strides = {2};
    column.slot.geometry = &column.geometry;
    whole.slot.geometry = &whole.geometry;
    table.taint(whole.slot, {}, 0);
    table.clear(column.slot);
    CHECK(table.find(whole.slot, 0).has_value());
  }

  TEST_CASE("memory stays bounded, and what lives on is kept") {
    TaintTable table(100);
    Value value;
    fill(value, {1}, {1}, {1}, false);
    for (std::uint64_t step = 0; step < 1000; ++step) {
      value.slot.storage = 1;
      table.taint(value.slot, {}, static_cast<std::int64_t>(step));
      for (std::uint64_t k = 0; k < 10; ++k) {
        value.slot.storage = 2 + step * 10 + k;
        table.taint(value.slot, {}, static_cast<std::int64_t>(step));
      }
      table.purge(static_cast<std::int64_t>(step));
      CHECK(table.size() < 130);
    }
    value.slot.storage = 1;
    CHECK(table.find(value.slot, 1000).has_value());
  }
}
