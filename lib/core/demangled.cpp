#include "core/demangled.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace ulpscope {
namespace {

constexpr std::size_t kLongestMangled = 1 << 14;

}  // namespace

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() > kLongestMangled) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? plain.get() : name;
}

}  // namespace ulpscope
