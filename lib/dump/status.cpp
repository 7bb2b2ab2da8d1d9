#include "dump/status.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "dump/bytes.hpp"
#include "dump/files.hpp"
#include "dump/layout.hpp"
#include "ulpscope/digest.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

constexpr int kStatusVersion = 2;
constexpr std::uint64_t kLargestStatus = 16ULL << 20;
constexpr const char* kFormat = "ulpscope-status";

/// In the place of the digest while it is taken.
const std::string kNoDigest(32, '0');
constexpr std::string_view kDigestKey = "\"digest\": \"";

std::string sealed(const nlohmann::ordered_json& json) {
  std::string text = json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  const std::string digest = to_string(ulpscope::digest(bytes_of(text)));
  text.replace(text.rfind(kDigestKey) + kDigestKey.size(), digest.size(), digest);
  return text;
}

/// The text as a whole, so that no change is overlooked: JSON has several spellings for one value.
bool is_sealed(std::string_view text) {
  const std::size_t key = text.rfind(kDigestKey);
  if (key == text.npos || text.size() - key < kDigestKey.size() + kNoDigest.size()) return false;
  const std::size_t at = key + kDigestKey.size();
  std::string without(text);
  without.replace(at, kNoDigest.size(), kNoDigest);
  return text.substr(at, kNoDigest.size()) == to_string(ulpscope::digest(bytes_of(without)));
}

struct Damaged {};

/// The inverse of to_string().
Digest digest_from(const std::string& text) {
  Digest digest;
  const auto read = [&text](std::size_t at, std::uint64_t& half) {
    const char* const begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + 16, half, 16);
    if (error != std::errc{} || end != begin + 16) throw Damaged{};
  };
  if (text.size() != kNoDigest.size()) throw Damaged{};
  read(0, digest.high);
  read(16, digest.low);
  return digest;
}

/// A number that T can hold; the library would convert any other one.
template <class T>
T whole_number(const nlohmann::json& value) {
  if (value.is_number_unsigned() && std::in_range<T>(value.get<std::uint64_t>())) {
    return static_cast<T>(value.get<std::uint64_t>());
  }
  if (value.is_number_integer() && !value.is_number_unsigned() &&
      std::in_range<T>(value.get<std::int64_t>())) {
    return static_cast<T>(value.get<std::int64_t>());
  }
  throw Damaged{};
}

}  // namespace

void write_status(const std::filesystem::path& directory, const Status& status) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw Error(ErrorCode::io,
                "Cannot create '" + directory.string() + "': " + error.message() + ".");
  }
  nlohmann::ordered_json last_segments = nlohmann::ordered_json::array();
  for (const LastSegment& last : status.last_segments) {
    last_segments.push_back(
        {{"rank", last.rank}, {"segment", last.segment}, {"seal", to_string(last.seal)}});
  }
  const nlohmann::ordered_json json = {
      {"format", kFormat},
      {"version", kStatusVersion},
      {"run", to_string(status.run)},
      {"command", status.command},
      {"level", status.level},
      {"recorded", status.recorded},
      {"complete", status.complete},
      {"reason", status.reason},
      {"notes", status.notes},
      {"exit_code",
       status.exit_code ? nlohmann::ordered_json(*status.exit_code) : nlohmann::ordered_json()},
      {"ranks", status.ranks},
      {"last_segments", std::move(last_segments)},
      {"counts",
       {{"events", status.counts.events},
        {"values", status.counts.values},
        {"bytes", status.counts.bytes},
        {"steps", status.counts.steps},
        {"segments", status.counts.segments}}},
      {"digest", kNoDigest},
  };
  replace_file(status_path(directory), sealed(json));
}

std::optional<Status> read_status(const std::filesystem::path& directory) {
  try {
    const auto file = File::open(status_path(directory));
    const std::uint64_t size = file.size();
    if (size > kLargestStatus) return std::nullopt;
    std::string text(size, '\0');
    file.read_at(0, std::as_writable_bytes(std::span(text)));
    return parse_status(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<Status> parse_status(std::string_view text) {
  try {
    if (!is_sealed(text)) return std::nullopt;
    const auto json = nlohmann::json::parse(text);
    if (json.at("format") != kFormat || json.at("version") != kStatusVersion) return std::nullopt;
    Status status;
    status.run = digest_from(json.at("run").get<std::string>());
    json.at("command").get_to(status.command);
    json.at("level").get_to(status.level);
    json.at("recorded").get_to(status.recorded);
    json.at("complete").get_to(status.complete);
    json.at("reason").get_to(status.reason);
    if (json.contains("notes")) json.at("notes").get_to(status.notes);
    if (const auto& code = json.at("exit_code"); !code.is_null())
      status.exit_code = whole_number<int>(code);
    for (const auto& rank : json.at("ranks")) {
      status.ranks.push_back(whole_number<std::uint32_t>(rank));
    }
    for (const auto& last : json.at("last_segments")) {
      status.last_segments.push_back({whole_number<std::uint32_t>(last.at("rank")),
                                      whole_number<std::uint32_t>(last.at("segment")),
                                      digest_from(last.at("seal").get<std::string>())});
    }
    const auto& counts = json.at("counts");
    status.counts.events = whole_number<std::uint64_t>(counts.at("events"));
    status.counts.values = whole_number<std::uint64_t>(counts.at("values"));
    status.counts.bytes = whole_number<std::uint64_t>(counts.at("bytes"));
    status.counts.steps = whole_number<std::uint64_t>(counts.at("steps"));
    status.counts.segments = whole_number<std::uint64_t>(counts.at("segments"));
    return status;
  } catch (const Damaged&) {
    return std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace ulpscope::dump
