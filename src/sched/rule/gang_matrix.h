// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

// Ousterhout's matrix: which goroutines should run at the same time. Only placement: no locks, no scheduler.
//   Matrix   A column for each P. In time slice k all Ps run row k mod n.
//   Team     Goroutines that wait for each other. A team is never larger than a row.
//   Place    A team stands as a whole in one row, its members in any free cells of it. A team that grows stays in its
//            row while there is a free cell. Otherwise it moves, as a whole, to the first row with enough free cells,
//            or to a new row at the end.
//   Leaving  frees the cell. Empty rows at the end disappear. Other teams stay where they are.
//   Rejected Packing rows again when members leave: it moves goroutines to other Ps for a gain that the next arrival
//            brings as well.
namespace weft::sched {

class GangMatrix {
 public:
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  struct Team;
  struct Member {
    Team* team = nullptr;  // null: in no cell
    std::uint32_t column = 0;
    Member* next = nullptr;  // in the team
    std::uint32_t row() const noexcept { return team != nullptr ? team->row : kNowhere; }
  };
  struct Team {
    std::uint32_t row = kNowhere;
    std::uint32_t size = 0;
    Member* first = nullptr;
    Member* last = nullptr;
  };

  constexpr GangMatrix() noexcept = default;
  GangMatrix(const GangMatrix&) = delete;
  ~GangMatrix() { give_memory_back(); }

  // Without a single team. Members and teams that were in it are forgotten, not changed.
  void begin(std::uint32_t columns) noexcept;
  // Puts a member, which is in no team, into a team with room for one more (size < columns()). The team may move.
  // False: no memory, and nothing has changed.
  bool add(Team& team, Member& member) noexcept;
  void remove(Member& member) noexcept;

  std::uint32_t columns() const noexcept { return columns_; }
  std::uint32_t rows() const noexcept { return rows_; }
  Member* at(std::uint32_t row, std::uint32_t column) const noexcept {
    return row < rows_ && column < columns_ ? cells_[index(row, column)] : nullptr;
  }
  bool row_is_empty(std::uint32_t row) const noexcept { return used_[row] == 0; }

 private:
  std::size_t index(std::uint32_t row, std::uint32_t column) const noexcept {
    return static_cast<std::size_t>(row) * columns_ + column;
  }
  std::uint32_t free_in(std::uint32_t row) const noexcept { return columns_ - used_[row]; }
  std::uint32_t first_row_with(std::uint32_t free_cells) const noexcept;  // rows(): there is none
  bool make_row() noexcept;
  void take_cell(std::uint32_t row, Member& member) noexcept;
  void free_cell(std::uint32_t row, const Member& member) noexcept;
  void drop_empty_rows() noexcept;
  void give_memory_back() noexcept;

  std::uint32_t columns_ = 0, rows_ = 0, room_ = 0;  // room_: rows that there is memory for
  Member** cells_ = nullptr;                         // row by row
  std::uint32_t* used_ = nullptr;                    // cells in use, for each row
};

}  // namespace weft::sched
