#include "ring/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

#include "ring/mapping.hpp"
#include "ring/message.hpp"
#include "ring/system_error.hpp"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace ulpscope::ring {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// `present` bytes of it can be touched without asking for memory.
Descriptor create_memory(const char* name, std::uint64_t bytes, std::uint64_t present) {
  Descriptor memory =
      above_stdio(Descriptor(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (!memory) throw system_error("shared memory cannot be made");
  int result = ::ftruncate(memory.get(), static_cast<off_t>(bytes));
  while (result == 0 && ::fallocate(memory.get(), 0, 0, static_cast<off_t>(present)) != 0) {
    if (errno != EINTR) result = -1;
  }
  if (result != 0) throw system_error("there is no memory for a ring");
  return memory;
}

/// Whether a process can populate memory and gets an error if there is none (Linux 5.14).
bool can_fetch_memory() noexcept {
  static const bool can = [] {
    void* const page =
        ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    const bool fetched = fetch_memory(page, page_bytes());
    ::munmap(page, page_bytes());
    return fetched;
  }();
  return can;
}

/// A copy of what another process may be changing.
std::string sentence(const LastWord& word) {
  constexpr std::uint32_t kComplete = 2;
  if (word.state.load(std::memory_order_acquire) != kComplete) return {};
  const Text<160> copy = word.sentence;
  return std::string(copy.view());
}

}  // namespace

Descriptor create_ring(std::uint64_t capacity) {
  const std::size_t page = page_bytes();
  const bool unfilled = can_fetch_memory();
  Descriptor memory =
      create_memory("ulpscope-ring", page + capacity, unfilled ? page : page + capacity);
  void* const address = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (address == MAP_FAILED) throw system_error("a ring cannot be mapped");
  auto* const header = new (address) RingHeader{};
  header->magic = kRingMagic;
  header->protocol = kProtocolVersion;
  header->header_bytes = static_cast<std::uint32_t>(page);
  header->capacity = capacity;
  header->unfilled = unfilled ? 1 : 0;
  ::munmap(address, page);
  if (::fcntl(memory.get(), F_ADD_SEALS, kSizeSeals) != 0) {
    throw system_error("a ring cannot be sealed");
  }
  return memory;
}

WriterPageOwner::WriterPageOwner()
    : descriptor_(create_memory("ulpscope-writer", page_bytes(), page_bytes())) {
  void* const address =
      ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (address == MAP_FAILED) throw system_error("the writer's page cannot be mapped");
  page_ = new (address) WriterPage{};
  page_->magic = kWriterMagic;
  page_->protocol = kProtocolVersion;

  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutex_init(&page_->alive, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  ::pthread_mutex_lock(&page_->alive);

  if (::fcntl(descriptor_.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_FUTURE_WRITE) != 0) {
    const Error error = system_error("the writer's page cannot be sealed");
    ::pthread_mutex_unlock(&page_->alive);
    ::munmap(page_, page_bytes());
    throw error;
  }
}

WriterPageOwner::~WriterPageOwner() {
  ::pthread_mutex_unlock(&page_->alive);
  ::munmap(page_, page_bytes());
}

void WriterPageOwner::note_progress() noexcept {
  page_->progress.fetch_add(1, std::memory_order_relaxed);
}

std::pair<SessionPageReader, Descriptor> SessionPageReader::create() {
  Descriptor memory = create_memory("ulpscope-session", page_bytes(), page_bytes());
  void* const address =
      ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (address == MAP_FAILED) throw system_error("a session's page cannot be mapped");
  auto* const page = new (address) SessionPage{};
  page->magic = kSessionMagic;
  page->protocol = kProtocolVersion;
  SessionPageReader reader;
  reader.page_ = page;
  if (::fcntl(memory.get(), F_ADD_SEALS, kSizeSeals) != 0) {
    throw system_error("a session's page cannot be sealed");
  }
  return {std::move(reader), std::move(memory)};
}

SessionPageReader::SessionPageReader(SessionPageReader&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)) {}

SessionPageReader& SessionPageReader::operator=(SessionPageReader&& other) noexcept {
  std::swap(page_, other.page_);
  return *this;
}

SessionPageReader::~SessionPageReader() {
  if (page_ != nullptr) ::munmap(const_cast<SessionPage*>(page_), page_bytes());
}

std::string SessionPageReader::ended() const {
  return page_ == nullptr ? std::string() : sentence(page_->ended);
}

std::string SessionPageReader::no_child() const {
  return page_ == nullptr ? std::string() : sentence(page_->no_child);
}

}  // namespace ulpscope::ring
