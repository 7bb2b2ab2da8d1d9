#pragma once

#include <pthread.h>

#include <array>
#include <cstddef>
#include <string_view>

/// Which threads a program creates, in which order and where. Which thread reaches its first op
/// first is a race; how many threads its creator had created before, and by which calls it creates
/// one, is the same in every run of most programs.
namespace ulpscope::capture {

using CreateThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

/// pthread_create() by `next`, noting what the new thread is to its creator, while it is recorded.
/// Its result.
int create_thread(CreateThread next, pthread_t* thread, const pthread_attr_t* attributes,
                  void* (*function)(void*), void* argument);

/// Creators on the way from the main thread that are remembered, and calls that created a thread.
inline constexpr std::size_t kDeepestCreation = 6;
inline constexpr std::size_t kCreationCalls = 4;
inline constexpr std::size_t kLongestObjectName = 40;
using CreationText =
    std::array<char, kDeepestCreation * 11 + kCreationCalls*(kLongestObjectName + 18)>;

/// How the calling thread came to be, in `room`: "1.0 train+11a0 train+1003" is the first thread
/// that the main thread's second one created, by a call at this offset (hexadecimal) of the
/// program's own code, and the calls that led there, innermost first. Empty for the main thread,
/// and where a creator is not known.
[[nodiscard]] std::string_view creation_of_thread(CreationText& room) noexcept;

}  // namespace ulpscope::capture
