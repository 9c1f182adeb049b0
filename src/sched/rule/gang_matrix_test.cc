// SPDX-License-Identifier: MIT
#include "sched/rule/gang_matrix.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

namespace {

using weft::sched::GangMatrix;

// Teams with a digit for each, shown row by row, row 0 first; '.' is a free cell.
class Teams {
 public:
  explicit Teams(std::uint32_t columns) { matrix_.begin(columns); }

  GangMatrix::Member& join(std::size_t team) {
    while (teams_.size() <= team) teams_.emplace_back();
    members_.emplace_back();
    EXPECT_TRUE(matrix_.add(teams_[team], members_.back()));
    return members_.back();
  }
  void start(std::size_t team, int size) {
    for (int i = 0; i < size; ++i) join(team);
  }
  void leave(GangMatrix::Member& member) { matrix_.remove(member); }
  void leave_all(std::size_t team) {
    while (teams_[team].first != nullptr) matrix_.remove(*teams_[team].first);
  }
  std::string row(std::uint32_t row) const {
    std::string text;
    for (std::uint32_t column = 0; column < matrix_.columns(); ++column) {
      const GangMatrix::Member* member = matrix_.at(row, column);
      text += member == nullptr ? '.' : static_cast<char>('0' + (member->team - &teams_[0]));
    }
    return text;
  }
  std::vector<std::string> picture() const {
    std::vector<std::string> rows;
    for (std::uint32_t i = 0; i < matrix_.rows(); ++i) rows.push_back(row(i));
    return rows;
  }
  const GangMatrix& matrix() const { return matrix_; }
  std::vector<GangMatrix::Team>& teams() { return teams_; }
  std::deque<GangMatrix::Member>& members() { return members_; }

 private:
  GangMatrix matrix_;
  std::vector<GangMatrix::Team> teams_ = [] {
    std::vector<GangMatrix::Team> teams;
    teams.reserve(64);  // they do not move
    return teams;
  }();
  std::deque<GangMatrix::Member> members_;
};

using Picture = std::vector<std::string>;

// "Analysis of the Go runtime scheduler", Figure 5: task forces 1 and 2 fit into row 0. Task force 3 is too large for
// the rest of it and goes to row 1. Task force 4 is small enough for row 0. Task force 5 fills a row of its own.
TEST(GangMatrix, places_task_forces_as_in_figure_5) {
  Teams teams(5);
  teams.start(1, 3);
  teams.start(2, 1);
  EXPECT_EQ(teams.picture(), (Picture{"1112."}));
  teams.start(3, 4);
  EXPECT_EQ(teams.picture(), (Picture{"1112.", "3333."}));
  teams.start(4, 1);
  EXPECT_EQ(teams.picture(), (Picture{"11124", "3333."}));
  teams.start(5, 5);
  EXPECT_EQ(teams.picture(), (Picture{"11124", "3333.", "55555"}));
}

TEST(GangMatrix, a_team_that_outgrows_its_row_moves_as_a_whole) {
  Teams teams(4);
  teams.start(1, 3);
  teams.start(2, 1);
  EXPECT_EQ(teams.picture(), (Picture{"1112"}));
  teams.join(2);
  EXPECT_EQ(teams.picture(), (Picture{"111.", "22.."}));
  teams.join(1);
  EXPECT_EQ(teams.picture(), (Picture{"1111", "22.."}));
}

TEST(GangMatrix, rows_are_made_on_demand_and_empty_ones_at_the_end_disappear) {
  Teams teams(2);
  EXPECT_EQ(teams.matrix().rows(), 0u);
  for (std::size_t team = 1; team <= 9; ++team) teams.start(team, 2);
  EXPECT_EQ(teams.matrix().rows(), 9u);
  teams.leave_all(4);
  EXPECT_EQ(teams.matrix().rows(), 9u);
  EXPECT_EQ(teams.row(3), "..");
  EXPECT_TRUE(teams.matrix().row_is_empty(3));
  teams.start(4, 2);
  EXPECT_EQ(teams.row(3), "44") << "the first row that fits";
  for (std::size_t team = 9; team >= 5; --team) teams.leave_all(team);
  EXPECT_EQ(teams.matrix().rows(), 4u);
  for (std::size_t team = 1; team <= 4; ++team) teams.leave_all(team);
  EXPECT_EQ(teams.matrix().rows(), 0u);
}

TEST(GangMatrix, a_free_cell_is_used_again) {
  Teams teams(3);
  teams.join(1);
  GangMatrix::Member& second = teams.join(1);
  teams.join(2);
  teams.leave(second);
  EXPECT_EQ(teams.picture(), (Picture{"1.2"}));
  teams.join(3);
  EXPECT_EQ(teams.picture(), (Picture{"132"}));
}

TEST(GangMatrix, whatever_comes_and_goes_every_member_has_its_own_cell_in_the_row_of_its_team) {
  std::mt19937 random(20);
  for (std::uint32_t columns : {1u, 2u, 5u, 8u}) {
    Teams teams(columns);
    teams.start(20, 1);
    std::vector<GangMatrix::Member*> alive;
    for (int step = 0; step < 4000; ++step) {
      const std::size_t team = random() % 20;
      if (random() % 2 == 0 && teams.teams()[team].size < columns) {
        alive.push_back(&teams.join(team));
      } else if (!alive.empty()) {
        const std::size_t one = random() % alive.size();
        teams.leave(*alive[one]);
        alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(one));
      }
      for (const GangMatrix::Member* member : alive)
        ASSERT_EQ(teams.matrix().at(member->row(), member->column), member)
            << "columns " << columns << " step " << step;
    }
  }
}

}  // namespace
