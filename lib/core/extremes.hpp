#pragma once

/// In an unnamed namespace, like all that is compiled once per instruction set: the standard
/// library's would be shared between them.
namespace ulpscope::core {
namespace {

template <class T>
T larger(T a, T b) {
  return a > b ? a : b;
}

template <class T>
T smaller(T a, T b) {
  return a < b ? a : b;
}

}  // namespace
}  // namespace ulpscope::core
