#pragma once

#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

/// Which functions are members of which class, from mangled names alone (Itanium C++ ABI).
namespace ulpscope::capture {

/// Mangled names of a module's class and of the classes it derives from; torch::nn::Module and
/// below left out.
[[nodiscard]] std::vector<std::string_view> classes_of(const std::type_info& type);

/// Recognizes member functions of one class.
class ClassMembers {
 public:
  /// @param type what type_info::name() gives.
  explicit ClassMembers(std::string_view type);

  /// Whether `function` is a member function of the class, constructors and destructors left out,
  /// something local to one, or the torch::nn::AnyModule that runs its forward.
  [[nodiscard]] bool contain(std::string_view function) const;

  /// The member function's own name: "forward".
  [[nodiscard]] std::string_view name_of(std::string_view function) const;

 private:
  std::string scope_;   ///< "N12_GLOBAL__N_18NetImpl" as it appears in a member's name
  std::string const_;   ///< the same for a const member
  std::string holder_;  ///< "N5torch2nn15AnyModuleHolderI..."
};

}  // namespace ulpscope::capture
