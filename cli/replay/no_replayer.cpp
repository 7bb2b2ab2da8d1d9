#include "cli/replay/find_replayer.hpp"

namespace ulpscope::cli {

std::unique_ptr<Replayer> find_replayer(const Run& /*run*/) { return nullptr; }

}  // namespace ulpscope::cli
