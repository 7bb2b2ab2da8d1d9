#include "capture/module_classes.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>

namespace ulpscope::capture {
namespace {

bool is_digit(char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; }

bool is_library_class(std::string_view type) {
  return type == "N5torch2nn6ModuleE" || type.starts_with("N5torch2nn9CloneableI") ||
         type.starts_with("St") || type.starts_with("NSt");
}

void add_classes(const std::type_info& type, std::vector<std::string_view>& classes) {
  const std::string_view name = type.name();
  if (is_library_class(name)) return;
  if (std::find(classes.begin(), classes.end(), name) == classes.end()) classes.push_back(name);
  if (const auto* single = dynamic_cast<const abi::__si_class_type_info*>(&type)) {
    add_classes(*single->__base_type, classes);
  } else if (const auto* several = dynamic_cast<const abi::__vmi_class_type_info*>(&type)) {
    for (unsigned i = 0; i < several->__base_count; ++i)
      add_classes(*several->__base_info[i].__base_type, classes);
  }
}

/// Where the name of a local class begins in "Z4mainE3Net": after the function it is local to.
std::size_t local_name(std::string_view type) {
  for (std::size_t at = type.rfind('E'); at != std::string_view::npos && at > 0;
       at = type.rfind('E', at - 1)) {
    std::size_t end = at + 1;
    std::size_t length = 0;
    while (end < type.size() && is_digit(type[end]))
      length = length * 10 + static_cast<std::size_t>(type[end++] - '0');
    if (end == at + 1 || length == 0 || end + length > type.size()) continue;
    if (end + length == type.size() || type[end + length] == '_') return at + 1;
  }
  return std::string_view::npos;
}

}  // namespace

std::vector<std::string_view> classes_of(const std::type_info& type) {
  std::vector<std::string_view> classes;
  add_classes(type, classes);
  return classes;
}

ClassMembers::ClassMembers(std::string_view type) {
  if (type.starts_with('*')) type.remove_prefix(1);
  std::string before;
  std::string_view name = type;
  if (type.starts_with('N') && type.ends_with('E')) {
    name = type.substr(1, type.size() - 2);
  } else if (const std::size_t at = local_name(type);
             type.starts_with('Z') && at != std::string_view::npos) {
    before = type.substr(0, at);
    name = type.substr(at);
  }
  scope_.append(before).append("N").append(name);
  const_.append(before).append("NK").append(name);
  holder_.append("N5torch2nn15AnyModuleHolderI").append(type);
}

bool ClassMembers::contain(std::string_view function) const {
  if (!function.starts_with("_Z")) return false;
  function.remove_prefix(2);
  if (function.starts_with(holder_)) return true;
  for (int depth = 0; depth < 4; ++depth) {
    for (const std::string_view scope : {std::string_view(scope_), std::string_view(const_)})
      if (function.starts_with(scope) && function.size() > scope.size() &&
          is_digit(function[scope.size()]))
        return true;
    if (!function.starts_with('Z')) return false;
    function.remove_prefix(1);  // what follows encloses a lambda or a local class
  }
  return false;
}

std::string_view ClassMembers::name_of(std::string_view function) const {
  for (const std::string_view scope : {std::string_view(scope_), std::string_view(const_)}) {
    const std::size_t found = function.find(scope);
    if (found == std::string_view::npos) continue;
    std::size_t at = found + scope.size();
    std::size_t length = 0;
    while (at < function.size() && is_digit(function[at]))
      length = length * 10 + static_cast<std::size_t>(function[at++] - '0');
    if (length > 0 && at + length <= function.size()) return function.substr(at, length);
  }
  return "forward";
}

}  // namespace ulpscope::capture
