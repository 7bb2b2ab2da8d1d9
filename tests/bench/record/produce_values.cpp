// Makes values of one size as fast as it can, or writes the same bytes with write(2): what
// full_rate.py compares. Prints a line when it begins, then seconds and processor seconds.
#include <fcntl.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kBankBytes = 16 << 20;

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The values take turns in the same memory, so that they come from outside the nearest caches.
std::vector<torch::Tensor> make_bank(std::int64_t size) {
  std::vector<torch::Tensor> bank;
  const std::int64_t count = std::max<std::int64_t>(2, kBankBytes / size);
  for (std::int64_t i = 0; i < count; ++i) {
    bank.push_back(torch::full({size / 4}, static_cast<double>(i) / static_cast<double>(count)));
  }
  return bank;
}

void write_all(int file, const torch::Tensor& value) {
  const auto* bytes = static_cast<const char*>(value.const_data_ptr());
  for (std::size_t left = value.nbytes(); left > 0;) {
    const ssize_t written = ::write(file, bytes + (value.nbytes() - left), left);
    if (written < 0) {
      std::perror("write");
      std::exit(1);
    }
    left -= static_cast<std::size_t>(written);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: produce_values BYTES-OF-A-VALUE BYTES-IN-ALL [FILE]\n");
    return 2;
  }
  const std::int64_t size = std::atoll(argv[1]);
  const std::int64_t count = std::atoll(argv[2]) / size;
  const int file = argc > 3 ? ::open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
  at::set_num_threads(1);
  std::vector<torch::Tensor> bank = make_bank(size);
  const torch::Tensor one = torch::ones({});  // a number would cost five ops more

  std::printf("begin\n");
  std::fflush(stdout);
  const auto begin = std::chrono::steady_clock::now();
  const double processor_begin = processor_seconds();
  for (std::int64_t i = 0; i < count; ++i) {
    torch::Tensor& value = bank[static_cast<std::size_t>(i) % bank.size()];
    if (file < 0) {
      value.add_(one);  // a value that was not there before
    } else {
      write_all(file, value);
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("took %.6f s, %.6f s of processor time\n", seconds.count(),
              processor_seconds() - processor_begin);
  return 0;
}
