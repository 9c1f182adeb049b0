// SPDX-License-Identifier: MIT
#include "sched/rule/gang_matrix.h"

#include <algorithm>
#include <new>

namespace weft::sched {

void GangMatrix::begin(std::uint32_t columns) noexcept {
  give_memory_back();
  columns_ = columns;
}

bool GangMatrix::add(Team& team, Member& member) noexcept {
  const bool fits = team.size > 0 && free_in(team.row) > 0;
  if (!fits) {
    const std::uint32_t to = first_row_with(team.size + 1);
    if (to == rows_ && !make_row()) return false;
    for (Member* one = team.first; one != nullptr; one = one->next) {
      free_cell(team.row, *one);
      take_cell(to, *one);
    }
    team.row = to;
  }
  take_cell(team.row, member);
  member.team = &team;
  member.next = nullptr;
  (team.last != nullptr ? team.last->next : team.first) = &member;
  team.last = &member;
  ++team.size;
  drop_empty_rows();
  return true;
}

void GangMatrix::remove(Member& member) noexcept {
  Team& team = *member.team;
  Member* previous = nullptr;
  for (Member* one = team.first; one != &member; one = one->next) previous = one;
  (previous != nullptr ? previous->next : team.first) = member.next;
  if (team.last == &member) team.last = previous;
  free_cell(team.row, member);
  if (--team.size == 0) team.row = kNowhere;
  member.team = nullptr;
  member.next = nullptr;
  drop_empty_rows();
}

std::uint32_t GangMatrix::first_row_with(std::uint32_t free_cells) const noexcept {
  std::uint32_t row = 0;
  while (row < rows_ && free_in(row) < free_cells) ++row;
  return row;
}

bool GangMatrix::make_row() noexcept {
  if (rows_ == room_) {
    const std::uint32_t room = std::max(2 * room_, 4u);
    auto** cells = new (std::nothrow) Member*[static_cast<std::size_t>(room) * columns_];
    auto* used = new (std::nothrow) std::uint32_t[room];
    if (cells == nullptr || used == nullptr) {
      delete[] cells;
      delete[] used;
      return false;
    }
    std::copy_n(cells_, static_cast<std::size_t>(rows_) * columns_, cells);
    std::copy_n(used_, rows_, used);
    delete[] cells_;
    delete[] used_;
    cells_ = cells;
    used_ = used;
    room_ = room;
  }
  std::fill_n(cells_ + index(rows_, 0), columns_, nullptr);
  used_[rows_++] = 0;
  return true;
}

void GangMatrix::take_cell(std::uint32_t row, Member& member) noexcept {
  std::uint32_t column = 0;
  while (at(row, column) != nullptr) ++column;
  cells_[index(row, column)] = &member;
  member.column = column;
  ++used_[row];
}

void GangMatrix::free_cell(std::uint32_t row, const Member& member) noexcept {
  cells_[index(row, member.column)] = nullptr;
  --used_[row];
}

void GangMatrix::drop_empty_rows() noexcept {
  while (rows_ > 0 && row_is_empty(rows_ - 1)) --rows_;
}

void GangMatrix::give_memory_back() noexcept {
  delete[] cells_;
  delete[] used_;
  cells_ = nullptr;
  used_ = nullptr;
  rows_ = room_ = 0;
}

}  // namespace weft::sched
