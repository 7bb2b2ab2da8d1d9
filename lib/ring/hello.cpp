#include "ring/hello.hpp"

#include <algorithm>
#include <span>
#include <string_view>

namespace ulpscope::ring {
namespace {

constexpr std::int32_t kMaxRank = 1 << 24;

std::optional<std::uint32_t> rank_of(std::int32_t value) {
  if (value < 0 || value > kMaxRank) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

std::vector<std::string> split_command(std::span<const std::byte> bytes) {
  std::vector<std::string> arguments;
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!rest.empty()) {
    const std::string_view argument = rest.substr(0, rest.find('\0'));
    arguments.emplace_back(argument);
    rest.remove_prefix(std::min(rest.size(), argument.size() + 1));
  }
  return arguments;
}

}  // namespace

std::optional<std::uint32_t> RankHints::first() const noexcept {
  for (const auto& hint : {rank, ompi_comm_world_rank, pmi_rank, slurm_procid, local_rank}) {
    if (hint) return hint;
  }
  return std::nullopt;
}

std::optional<Hello> read_hello(const Packet& packet) {
  HelloRequest request;
  if (!packet.copy(request) || request.command_bytes > kMaxCommandBytes ||
      packet.bytes.size() != sizeof request + request.command_bytes) {
    return std::nullopt;
  }
  Hello hello;
  hello.pid = packet.pid;
  hello.parent_pid = request.parent_pid;
  hello.start_time = request.start_time;
  hello.parent_session = request.parent_session;
  hello.forking_thread = request.forking_thread;
  hello.capture_version = request.capture_version.view();
  hello.ranks = {rank_of(request.ranks[0]), rank_of(request.ranks[1]), rank_of(request.ranks[2]),
                 rank_of(request.ranks[3]), rank_of(request.ranks[4])};
  hello.command = split_command(std::span(packet.bytes).subspan(sizeof request));
  hello.command_cut = request.command_cut != 0;
  return hello;
}

}  // namespace ulpscope::ring
