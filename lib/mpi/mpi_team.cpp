#include "mpi/mpi_team.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ulpscope {
namespace {

/// MPI counts in int; longer messages go in several.
constexpr std::size_t kLongestMessage = std::size_t{1} << 30;

template <class Data, class Move>
void for_each_piece(Data* data, std::size_t size, const Move& move) {
  for (std::size_t at = 0; at < size; at += kLongestMessage)
    move(data + at, static_cast<int>(std::min(kLongestMessage, size - at)));
}

/// All processes of MPI_COMM_WORLD. What fails in MPI itself ends them all, as is its default.
class MpiTeam final : public Team {
 public:
  MpiTeam() {
    int number = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &number);
    size_ = static_cast<std::uint32_t>(number);
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    member_ = static_cast<std::uint32_t>(number);
  }
  ~MpiTeam() override { MPI_Finalize(); }
  void end_all() noexcept override { MPI_Abort(MPI_COMM_WORLD, 2); }

  [[nodiscard]] std::uint32_t size() const noexcept override { return size_; }
  [[nodiscard]] std::uint32_t member() const noexcept override { return member_; }

  void gather(const std::string& own,
              const std::function<void(std::uint32_t, const std::string&)>& take) override {
    if (member_ == 0) {
      take(0, own);
      for (std::uint32_t from = 1; from < size_; ++from) take(from, receive(from));
      return;
    }
    const std::uint64_t size = own.size();
    MPI_Send(&size, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD);
    for_each_piece(own.data(), own.size(), [](const char* piece, int count) {
      MPI_Send(piece, count, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    });
  }

  [[nodiscard]] std::string broadcast(const std::string& from_first) override {
    std::string text = member_ == 0 ? from_first : std::string();
    std::uint64_t size = text.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    text.resize(size);
    for_each_piece(text.data(), text.size(), [](char* piece, int count) {
      MPI_Bcast(piece, count, MPI_BYTE, 0, MPI_COMM_WORLD);
    });
    return text;
  }

 private:
  [[nodiscard]] static std::string receive(std::uint32_t from) {
    const int source = static_cast<int>(from);
    std::uint64_t size = 0;
    MPI_Recv(&size, 1, MPI_UINT64_T, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::string text(size, '\0');
    for_each_piece(text.data(), text.size(), [source](char* piece, int count) {
      MPI_Recv(piece, count, MPI_BYTE, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
    return text;
  }

  std::uint32_t size_ = 1;
  std::uint32_t member_ = 0;
};

}  // namespace
}  // namespace ulpscope

ulpscope::Team* ulpscope_join_mpi_team() {
  if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS) return nullptr;
  return new ulpscope::MpiTeam;
}
