#include "cli/replay/find_replayer.hpp"

namespace ulpscope::cli {

ReplayerFactory replayer_factory(const Run& /*run*/) { return nullptr; }

std::string why_no_replayer(const Run& /*run*/) { return "Ulpscope was built without LibTorch"; }

std::unique_ptr<Replayer> find_replayer(const Run& /*run*/) { return nullptr; }

}  // namespace ulpscope::cli
