#include "compare/diff/outcomes/alone_memory.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

using namespace ulpscope;
using namespace ulpscope::comparison;

namespace {

const Geometry kFour{.dtype = Dtype::float32, .sizes = {4}, .strides = {1}};

Slot slot_of(Role role, std::uint32_t writes, std::uint64_t content) {
  Slot slot;
  slot.role = role;
  slot.digest = {content, content};
  slot.storage = 7;
  slot.writes = writes;
  slot.geometry = &kFour;
  return slot;
}

/// An op that changes memory in place, as its `writes`-th writer.
struct InPlace {
  explicit InPlace(std::uint32_t writes)
      : slots{slot_of(Role::input, writes - 1, writes - 1),
              slot_of(Role::mutated, writes, writes)} {
    event.op = "aten::mul_";
    event.slots = slots;
  }

  std::vector<Slot> slots;
  Event event;
};

void done_by_both(AloneMemory& memory, const Event& op,
                  AloneMemory::Partner partner = AloneMemory::Partner::given_the_same) {
  const Window window({HeldEvent{&op, nullptr}}, true);
  memory.read(window, 0, partner);
}

}  // namespace

TEST_SUITE("alone memory") {
  TEST_CASE("what both runs read after a change was compared") {
    AloneMemory memory;
    memory.changed(InPlace(2).event);
    done_by_both(memory, InPlace(3).event);
    CHECK(memory.changes().empty());
  }

  TEST_CASE("an op that asks only for the shape of a result has not read it") {
    AloneMemory memory;
    std::vector<Slot> slots{slot_of(Role::output, 1, 1)};
    Event made;
    made.op = "aten::mul";
    made.slots = slots;
    memory.wrote(made);
    std::vector<Slot> asked{slot_of(Role::input, 1, 1)};
    asked[0].flags = slot_flag::metadata_only;
    Event like;
    like.op = "aten::zeros_like";
    like.slots = asked;
    done_by_both(memory, like);
    CHECK(memory.is_unread(slots[0]));
    asked[0].flags = 0;
    done_by_both(memory, like);
    CHECK_FALSE(memory.is_unread(slots[0]));
  }

  TEST_CASE("what was read after a divergence was compared unless the runs do not diverge") {
    AloneMemory memory;
    const std::vector<Slot> slots{slot_of(Role::output, 1, 1)};
    Event made;
    made.op = "aten::mul";
    made.slots = slots;
    memory.wrote(made);
    std::vector<Slot> given{slot_of(Role::input, 0, 0), slot_of(Role::input, 1, 1)};
    given[0].storage = 8;
    given[1].index = 1;
    Event adopts;
    adopts.op = "aten::_has_compatible_shallow_copy_type";
    adopts.slots = given;
    memory.wrote(adopts);
    const std::vector<Slot> read{slot_of(Role::input, 1, 1)};
    Event reader;
    reader.op = "aten::sum";
    reader.slots = read;
    done_by_both(memory, reader, AloneMemory::Partner::diverged_before);
    CHECK_FALSE(memory.is_uncompared(read[0], true));
    CHECK(memory.adopted(true).empty());
    CHECK(memory.is_uncompared(read[0], false));
    CHECK(memory.adopted(false).size() == 1);
  }

  TEST_CASE("a lane that is visited later but ran before has not read the change") {
    AloneMemory memory;
    memory.changed(InPlace(2).event);
    done_by_both(memory, InPlace(1).event);
    CHECK(memory.changes().size() == 1);
  }

  TEST_CASE("a change that both runs replace as a whole is gone") {
    AloneMemory memory;
    memory.changed(InPlace(2).event);
    const std::vector<Slot> slots{slot_of(Role::mutated, 3, 0)};
    Event zeros;
    zeros.op = "aten::zero_";
    zeros.slots = slots;
    done_by_both(memory, zeros);
    CHECK(memory.changes().empty());
  }
}
