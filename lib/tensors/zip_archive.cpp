#include "tensors/zip_archive.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tensors/refuse.hpp"

namespace ulpscope::tensors {
namespace {

constexpr std::uint64_t kMostMembers = std::uint64_t{1} << 20;
/// What is in front of what is wanted, as long as it is short: so all of the member is checked.
constexpr std::uint64_t kSkippedByReading = std::uint64_t{1} << 16;

class MemberReader : public ContentReader {
 public:
  MemberReader(std::shared_ptr<const ZipArchive> archive, const ZipMember& member,
               std::uint64_t offset, std::uint64_t bytes)
      : archive_(std::move(archive)),
        name_(member.name),
        size_(bytes),
        left_(offset == 0 || offset <= kSkippedByReading ? member.bytes : bytes + 1),
        file_(::zip_fopen_index(archive_->handle(), member.index, 0)) {
    if (file_ == nullptr) fail_to_open();
    if (offset != 0) skip(member, offset);
  }
  MemberReader(const MemberReader&) = delete;
  MemberReader& operator=(const MemberReader&) = delete;
  ~MemberReader() override {
    if (file_ != nullptr) ::zip_fclose(file_);
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  void read(std::span<std::byte> piece) override {
    while (!piece.empty()) {
      const zip_int64_t got = ::zip_fread(file_, piece.data(), piece.size());
      if (got < 0) fail(::zip_file_strerror(file_));
      if (got == 0) fail("it ends too early");
      piece = piece.subspan(static_cast<std::size_t>(got));
      left_ -= static_cast<std::uint64_t>(got);
    }
    if (left_ == 0) check_end();
  }

 private:
  [[noreturn]] void fail_to_open() {
    zip_error_t* const error = ::zip_get_error(archive_->handle());
    if (::zip_error_code_zip(error) == ZIP_ER_COMPNOTSUPP)
      unsupported(
          archive_->path(),
          fmt::format("'{}' in it is compressed in a way that libzip does not know", name_));
    fail(::zip_error_strerror(error));
  }
  /// libzip compares the checksum when it comes to the end.
  void check_end() {
    std::byte more{};
    const zip_int64_t got = ::zip_fread(file_, &more, 1);
    if (got < 0) fail(::zip_file_strerror(file_));
    if (got > 0) fail("it is longer than the archive says");
  }
  void skip(const ZipMember& member, std::uint64_t offset) {
    if (member.stored && offset > kSkippedByReading) {
      if (::zip_fseek(file_, static_cast<zip_int64_t>(offset), SEEK_SET) != 0)
        fail(::zip_file_strerror(file_));
      return;
    }
    std::vector<std::byte> skipped(std::min<std::uint64_t>(offset, std::uint64_t{1} << 18));
    for (std::uint64_t done = 0; done < offset; done += skipped.size()) {
      skipped.resize(std::min<std::uint64_t>(skipped.size(), offset - done));
      read(skipped);
    }
  }
  [[noreturn]] void fail(const std::string& what) {
    if (file_ != nullptr) ::zip_fclose(std::exchange(file_, nullptr));
    damaged(archive_->path(), fmt::format("'{}' in it: {}", name_, what));
  }

  std::shared_ptr<const ZipArchive> archive_;
  std::string name_;
  std::uint64_t size_;
  std::uint64_t left_;  ///< of the member, if all of it is read; else never 0
  zip_file_t* file_;
};

class MemberSource : public Source {
 public:
  MemberSource(std::shared_ptr<const ZipArchive> archive, ZipMember member)
      : archive_(std::move(archive)), member_(std::move(member)) {}

  [[nodiscard]] std::uint64_t size() const override { return member_.bytes; }
  [[nodiscard]] std::unique_ptr<ContentReader> stream(std::uint64_t offset,
                                                      std::uint64_t bytes) const override {
    return std::make_unique<MemberReader>(archive_, member_, offset, bytes);
  }

 private:
  std::shared_ptr<const ZipArchive> archive_;
  ZipMember member_;
};

}  // namespace

ZipArchive::ZipArchive(std::filesystem::path path) : path_(std::move(path)) {
  int code = 0;
  archive_ = ::zip_open(path_.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code);
  if (code == ZIP_ER_EXISTS) damaged(path_, "two of its members have one name");
  if (archive_ == nullptr) {
    zip_error_t error;
    ::zip_error_init_with_code(&error, code);
    const std::string what = ::zip_error_strerror(&error);
    ::zip_error_fini(&error);
    damaged(path_, fmt::format("it is no complete zip archive ({})", what));
  }
  try {
    list();
  } catch (...) {
    ::zip_discard(archive_);
    throw;
  }
}

ZipArchive::~ZipArchive() { ::zip_discard(archive_); }

void ZipArchive::list() {
  const auto count =
      static_cast<std::uint64_t>(std::max<zip_int64_t>(::zip_get_num_entries(archive_, 0), 0));
  if (count > kMostMembers) unsupported(path_, "it has more than a million members");
  std::unordered_map<std::string_view, std::uint64_t> names;
  members_.reserve(count);
  for (std::uint64_t index = 0; index < count; ++index) {
    zip_stat_t status;
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD;
    if (::zip_stat_index(archive_, index, 0, &status) != 0 || (status.valid & kNeeded) != kNeeded)
      damaged(path_, fmt::format("its member {} has no name or size", index));
    members_.push_back({status.name, index, status.size, status.comp_method == ZIP_CM_STORE});
    if (!names.emplace(members_.back().name, index).second)
      damaged(path_, fmt::format("it has two members of the name '{}'", status.name));
    if ((status.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && status.encryption_method != ZIP_EM_NONE)
      unsupported(path_, fmt::format("'{}' in it is encrypted", status.name));
  }
}

const ZipMember* ZipArchive::find(std::string_view name) const {
  const auto member = std::find_if(members_.begin(), members_.end(),
                                   [&](const ZipMember& one) { return one.name == name; });
  return member == members_.end() ? nullptr : &*member;
}

std::shared_ptr<const Source> member_of(std::shared_ptr<const ZipArchive> archive,
                                        const ZipMember& member) {
  return std::make_shared<MemberSource>(std::move(archive), member);
}

}  // namespace ulpscope::tensors
