#include "writer/symbols/debug_file.hpp"

#include <filesystem>
#include <system_error>

namespace ulpscope::writer {
namespace {

constexpr Dwfl_Callbacks kCallbacks{.find_elf = nullptr,
                                    .find_debuginfo = dwfl_build_id_find_debuginfo,
                                    .section_address = dwfl_offline_section_address,
                                    .debuginfo_path = nullptr};

}  // namespace

DebugFile::DebugFile(const std::string& path) {
  std::error_code ignored;  // a path comes from a program: opening a pipe would wait forever
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  session_ = dwfl_begin(&kCallbacks);
  if (session_ == nullptr) return;
  module_ = dwfl_report_offline(session_, path.c_str(), path.c_str(), -1);
  dwfl_report_end(session_, nullptr, nullptr);
  if (module_ != nullptr && dwfl_module_getelf(module_, &bias_) == nullptr) module_ = nullptr;
}

DebugFile::~DebugFile() {
  if (session_ != nullptr) dwfl_end(session_);
}

}  // namespace ulpscope::writer
