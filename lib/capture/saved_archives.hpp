#pragma once

#include <string_view>

namespace torch::serialize {
class OutputArchive;
}

namespace ulpscope::capture {

class Thread;

/// The program writes an archive to a file, or to a buffer without a name: sends what stands in it
/// beside the bits of tensors, as settings `saved.archive.N` (compare/diff/saved_files.hpp).
void send_saved_archive(Thread& thread, const torch::serialize::OutputArchive& archive,
                        std::string_view file);

}  // namespace ulpscope::capture
