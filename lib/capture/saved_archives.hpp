#pragma once

#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/memory.hpp"

namespace torch::serialize {
class OutputArchive;
}

namespace ulpscope::capture {

class Thread;

/// The program writes an archive to a file, or to a buffer without a name: sends what stands in it
/// beside the bits of tensors, as settings `saved.archive.N`
/// (compare/diff/outcomes/saved_files.hpp).
class SavedArchive {
 public:
  SavedArchive(Thread& thread, const torch::serialize::OutputArchive& archive,
               std::string_view file);
  SavedArchive(const SavedArchive&) = delete;
  SavedArchive& operator=(const SavedArchive&) = delete;
  ~SavedArchive();
  /// It is written: sends which tensors these were.
  void end();

 private:
  Thread& thread_;
  std::pmr::string setting_{&process_memory()};  ///< empty: there are too many
  std::pmr::unordered_map<const void*, std::pmr::string> keys_{&process_memory()};  ///< by memory
  std::pmr::vector<const void*> written_;
};

}  // namespace ulpscope::capture
