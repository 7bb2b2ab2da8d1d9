#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ring/client.hpp"
#include "tests/support/dump_builder.hpp"
#include "ulpscope/digest.hpp"

/// Replaces a program with LibTorch in it: introduces itself as the capture library does, sends a
/// few events, and ends the way its arguments say.
///
///   recorded_program [EVENTS] [--kill] [--daemon] [--garbage] [--settings] [--bytes] [--notice]
namespace {

using namespace ulpscope;

/// Whole messages in pieces that a ring takes.
bool send(ring::Producer& producer, std::span<const std::byte> messages) {
  while (!messages.empty()) {
    ring::MessageHeader header;
    std::memcpy(&header, messages.data(), sizeof header);
    void* room = producer.reserve(header.size);
    if (room == nullptr) return false;
    std::memcpy(room, messages.data(), header.size);
    producer.commit(header.size);
    messages = messages.subspan(header.size);
  }
  return true;
}

/// An event that wrote one value; with `bytes` its content too, different for each position.
std::vector<std::byte> event(test::MessageWriter& messages, std::uint64_t position, bool bytes) {
  ring::EventRow row{};
  row.position = position;
  row.parent = ring::kNone;
  row.forward = ring::kNone;
  row.epoch = position + 1;
  row.op = messages.op("aten::add");
  row.kind = static_cast<std::uint8_t>(EventKind::op);
  row.threads = 1;
  ring::SlotRow slot{};
  slot.role = static_cast<std::uint8_t>(Role::output);
  slot.digest[0] = position + 1;
  slot.digest[1] = position + 2;
  slot.value = position;
  slot.storage = position;
  slot.writer = ring::kNone;
  slot.geometry = messages.geometry(Dtype::float32, {2, 3});
  if (bytes) {
    const std::vector<float> content(6, static_cast<float>(position));
    const Digest of = digest(std::as_bytes(std::span(content)));
    messages.content(of, std::as_bytes(std::span(content)));
    slot.digest[0] = of.high;
    slot.digest[1] = of.low;
    slot.flags |= slot_flag::has_content;
  }
  messages.event(row, std::span(&slot, 1), {});
  return messages.take();
}

void print(const ring::Settings& settings) {
  const auto lines = [](std::string text) {
    std::replace(text.begin(), text.end(), '\n', '|');
    return text;
  };
  std::cout << "level " << static_cast<int>(settings.level) << ", capture "
            << static_cast<int>(settings.capture) << ", verify "
            << static_cast<int>(settings.verify) << ", steps " << settings.first_step << '-'
            << settings.last_step << ", stacks " << static_cast<int>(settings.stacks)
            << ", kernels " << static_cast<int>(settings.kernels) << ", modules "
            << lines(std::string(settings.modules.view())) << ", ops "
            << lines(std::string(settings.ops.view())) << ", ignore "
            << lines(std::string(settings.ignore.view())) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t events = 10;
  bool kill_itself = false;
  bool garbage = false;
  bool settings = false;
  bool bytes = false;
  bool notice = false;
  for (const std::string_view argument : std::span(argv + 1, static_cast<std::size_t>(argc - 1))) {
    if (argument == "--kill") {
      kill_itself = true;
    } else if (argument == "--garbage") {
      garbage = true;
    } else if (argument == "--settings") {
      settings = true;
    } else if (argument == "--bytes") {
      bytes = true;
    } else if (argument == "--notice") {
      notice = true;
    } else if (argument == "--daemon") {
      if (daemon(1, 1) != 0) return 2;
      usleep(200'000);  // the recorder sees the command end before anything is recorded
    } else {
      events = std::stoull(std::string(argument));
    }
  }

  const char* socket = std::getenv("ULPSCOPE_SOCKET");
  static ring::Client client;
  if (socket == nullptr || !client.connect(socket, "0.0.0")) {
    std::cerr << "not recorded: " << client.refusal() << '\n';
    return 3;
  }
  if (settings) print(client.settings());
  bool recorded = true;
  {
    ring::Producer producer = client.open_ring(true, "main");
    test::MessageWriter messages;
    messages.environment(0, "capture.verified_bytes", "123456789");
    messages.environment(0, "env.API_TOKEN", "sk-secret");
    messages.environment(0, "env.OMP_NUM_THREADS", "2");
    for (int twice = 0; notice && twice < 2; ++twice)
      messages.notice(false, "kernels have no names");
    recorded = send(producer, messages.take());
    if (garbage) {
      std::vector<std::byte> row = event(messages, 0, false);
      auto* header = reinterpret_cast<ring::MessageHeader*>(row.data());
      header->kind = static_cast<ring::MessageKind>(999);
      send(producer, row);
    }
    for (std::uint64_t i = 0; i < events && recorded; ++i) {
      recorded = send(producer, event(messages, i, bytes));
    }
    if (kill_itself) raise(SIGKILL);
  }
  std::cout << (recorded ? "recorded to its end\n" : "went on without recording\n");
  return 0;
}
