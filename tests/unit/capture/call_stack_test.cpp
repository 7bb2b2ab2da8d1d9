#include "capture/call_stack.hpp"

#include <alloca.h>
#include <doctest/doctest.h>
#include <unwind.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory_resource>
#include <thread>
#include <vector>

using ulpscope::capture::CallFrame;
using ulpscope::capture::CallStack;
using ulpscope::capture::function_begin;
using ulpscope::capture::unwind_row;
using ulpscope::capture::UnwindRow;

namespace {

/// What libgcc's unwinder says.
std::vector<CallFrame> by_libgcc() {
  std::vector<CallFrame> frames;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* to) {
        CallFrame frame;
        frame.address = _Unwind_GetIP(context);
        frame.stack = _Unwind_GetCFA(context);
        constexpr std::array<int, 6> kPreserved = {6, 3, 12, 13, 14, 15};
        for (std::size_t i = 0; i < kPreserved.size(); ++i)
          frame.saved[i] = _Unwind_GetGR(context, kPreserved[i]);
        static_cast<std::vector<CallFrame>*>(to)->push_back(frame);
        return _URC_NO_REASON;
      },
      &frames);
  return frames;
}

/// How many frames around the caller both ways of walking agree on; 0 if they disagree on one.
__attribute__((noinline)) std::size_t agreed_frames() {
  static CallStack stack(std::pmr::get_default_resource());
  stack.take();
  const std::vector<CallFrame> expected = by_libgcc();
  const auto own = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  std::size_t agreed = 0;
  std::size_t at = 0;
  while (at < stack.size() && stack[at].stack <= own) ++at;
  std::size_t other = 0;
  while (other < expected.size() && expected[other].stack <= own) ++other;
  for (; at < stack.size(); ++at, ++other, ++agreed) {
    if (other >= expected.size() || stack[at].address != expected[other].address ||
        stack[at].stack != expected[other].stack || stack[at].saved != expected[other].saved)
      return 0;
  }
  return agreed;
}

using Inner = std::function<std::size_t()>;

/// A frame a level, which optimization would fold into fewer.
#ifdef __clang__
[[clang::optnone]]
#else
__attribute__((optimize("O1")))
#endif
__attribute__((noinline)) std::size_t
through_recursion(int depth, const Inner& inner) {
  volatile std::size_t result = depth == 0 ? inner() : through_recursion(depth - 1, inner);
  return result;
}

__attribute__((noinline)) std::size_t through_alloca(std::size_t size, const Inner& inner) {
  auto* room = static_cast<volatile char*>(alloca(size));
  room[0] = 1;
  return inner() * static_cast<std::size_t>(room[0]);
}

__attribute__((noinline)) std::size_t through_realigned(const Inner& inner) {
  alignas(128) volatile char room[256] = {1};
  return inner() * static_cast<std::size_t>(room[0]);
}

#ifndef __clang__
__attribute__((optimize("no-omit-frame-pointer")))
#endif
__attribute__((noinline)) std::size_t
through_frame_pointer(const Inner& inner) {
  volatile std::size_t result = inner();
  return result;
}

const Inner* inner_of_sort = nullptr;
std::size_t result_of_sort = 0;

std::size_t through_library(const Inner& inner) {
  inner_of_sort = &inner;
  int values[2] = {2, 1};
  std::qsort(values, 2, sizeof(int), [](const void* a, const void* b) {
    result_of_sort = (*inner_of_sort)();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  return result_of_sort;
}

std::size_t frames_in_handler = 0;

}  // namespace

TEST_SUITE("the call stack") {
  TEST_CASE("is libgcc's, frame by frame, with the registers that calls preserve") {
    const std::size_t plain = agreed_frames();
    CHECK(plain > 3);
    CHECK(through_recursion(20, agreed_frames) > plain + 20);
    CHECK(through_alloca(100, agreed_frames) > plain);
    CHECK(through_alloca(5000, agreed_frames) > plain);
    CHECK(through_realigned(agreed_frames) > plain);
    CHECK(through_frame_pointer(agreed_frames) > plain);
    CHECK(through_library(agreed_frames) > plain);
    CHECK(through_alloca(64, [] {
            return through_realigned([] {
              return through_library([] {
                return through_recursion(3, [] { return through_realigned(agreed_frames); });
              });
            });
          }) > plain + 6);
  }

  TEST_CASE("of another thread ends where the thread began") {
    std::size_t agreed = 0;
    std::thread([&] { agreed = through_recursion(5, agreed_frames); }).join();
    CHECK(agreed > 6);
  }

  TEST_CASE("goes through a signal handler") {
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = [](int) { frames_in_handler = agreed_frames(); };
    sigaction(SIGUSR1, &action, &before);
    std::raise(SIGUSR1);
    sigaction(SIGUSR1, &before, nullptr);
    CHECK(frames_in_handler > 3);
  }

  TEST_CASE("of an alternative stack is taken too") {
    std::vector<char> room(64 << 10);
    stack_t other{};
    other.ss_sp = room.data();
    other.ss_size = room.size();
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&other, nullptr);
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = [](int) { frames_in_handler = agreed_frames(); };
    action.sa_flags = SA_ONSTACK;
    frames_in_handler = 0;
    sigaction(SIGUSR1, &action, &before);
    std::raise(SIGUSR1);
    sigaction(SIGUSR1, &before, nullptr);
    sigaltstack(&none, nullptr);
    CHECK(frames_in_handler > 3);
  }

  TEST_CASE("deeper than is kept is cut") {
    CallStack stack(std::pmr::get_default_resource());
    through_recursion(200, [&] {
      stack.take();
      return stack.size();
    });
    CHECK(stack.size() == CallStack::kMost - 1);
  }

  TEST_CASE("an address that is no code has no row") {
    static const int data = 0;
    CHECK(unwind_row(16).kind == UnwindRow::Kind::unknown);
    CHECK(unwind_row(reinterpret_cast<std::uintptr_t>(&data)).kind != UnwindRow::Kind::step);
  }

  TEST_CASE("a function begins where its instructions say") {
    static const int data = 0;
    const auto begin = reinterpret_cast<std::uintptr_t>(&through_recursion);
    CHECK(function_begin(begin) == begin);
    CHECK(function_begin(begin + 5) == begin);
    CHECK(function_begin(begin - 1) != begin);
    CHECK(function_begin(reinterpret_cast<std::uintptr_t>(&data)) == 0);
    CHECK(function_begin(16) == 0);
  }

  TEST_CASE("a function leads to its caller by the usual forms") {
    CHECK(unwind_row(reinterpret_cast<std::uintptr_t>(&through_alloca)).kind ==
          UnwindRow::Kind::step);
    const UnwindRow entry = unwind_row(reinterpret_cast<std::uintptr_t>(&through_recursion));
    CHECK(entry.base == UnwindRow::Base::stack_pointer);
    CHECK(entry.offset == 8);
  }
}
