// Everything of ulpscope.hpp in a program that is built without it: links nothing, does nothing.
#define ULPSCOPE_DISABLED
#include <array>
#include <cstdint>

#include "ulpscope/ulpscope.hpp"

int main() {
  ulpscope::Recorder recorder{"nowhere", {.level = ulpscope::Level::full}};
  const ulpscope::Scope scope("block");
  ulpscope::note("key", "value");
  ulpscope::note_rng("name", {});
  ulpscope::note_batch(std::array<std::int64_t, 1>{1});
  recorder.step();
  return recorder.recording() ? 1 : 0;
}
