#include "dump/status.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "dump/bytes.hpp"
#include "dump/files.hpp"
#include "dump/layout.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

constexpr int kStatusVersion = 1;
constexpr std::uint64_t kLargestStatus = 16ULL << 20;
constexpr const char* kFormat = "ulpscope-status";

}  // namespace

void write_status(const std::filesystem::path& directory, const Status& status) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw Error(ErrorCode::io,
                "Cannot create '" + directory.string() + "': " + error.message() + ".");
  }
  const nlohmann::ordered_json json = {
      {"format", kFormat},
      {"version", kStatusVersion},
      {"command", status.command},
      {"level", status.level},
      {"recorded", status.recorded},
      {"complete", status.complete},
      {"reason", status.reason},
      {"notes", status.notes},
      {"exit_code", status.exit_code},
      {"ranks", status.ranks},
      {"counts",
       {{"events", status.counts.events},
        {"values", status.counts.values},
        {"bytes", status.counts.bytes},
        {"steps", status.counts.steps},
        {"segments", status.counts.segments}}},
  };
  replace_file(status_path(directory),
               json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::optional<Status> read_status(const std::filesystem::path& directory) {
  try {
    const auto file = File::open(status_path(directory));
    const std::uint64_t size = file.size();
    if (size > kLargestStatus) return std::nullopt;
    std::string text(size, '\0');
    file.read_at(0, std::as_writable_bytes(std::span(text)));
    const auto json = nlohmann::json::parse(text);
    if (json.at("format") != kFormat) return std::nullopt;
    Status status;
    json.at("command").get_to(status.command);
    json.at("level").get_to(status.level);
    json.at("recorded").get_to(status.recorded);
    json.at("complete").get_to(status.complete);
    json.at("reason").get_to(status.reason);
    if (json.contains("notes")) json.at("notes").get_to(status.notes);
    json.at("exit_code").get_to(status.exit_code);
    json.at("ranks").get_to(status.ranks);
    const auto& counts = json.at("counts");
    counts.at("events").get_to(status.counts.events);
    counts.at("values").get_to(status.counts.values);
    counts.at("bytes").get_to(status.counts.bytes);
    counts.at("steps").get_to(status.counts.steps);
    counts.at("segments").get_to(status.counts.segments);
    return status;
  } catch (const Error&) {
    return std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace ulpscope::dump
