// Matrix multiplication by an array of processes, one for each element of the matrix A. Rows of the other matrix come in
// from the west, one element a row of processes; zeros come in from the north, and pick up a product in every process on
// their way; what leaves in the south are the rows of the result. All processes work at once, each with its four
// neighbours only. Hoare, Communicating Sequential Processes (1978), section 6.2; his A is 3 by 3, this one of any size.
#include <weft/chan.h>
#include <weft/go.h>
#include <array>
#include <cstdio>
#include <vector>

namespace {

using matrix = std::vector<std::vector<double>>;
using wires = std::vector<std::vector<weft::chan<double>>>;

wires make_wires(std::size_t rows, std::size_t columns) {
  wires all(rows);
  for (auto& row : all) row = std::vector<weft::chan<double>>(columns);  // so many channels, not one and its copies
  return all;
}

void cell(double a, weft::chan<double> west, weft::chan<double> north, weft::chan<double> east,
          weft::chan<double> south) {
  for (double x : west) {
    east.send(x);
    south.send(*north.recv() + a * x);
  }
  east.close();
  south.close();
}

void sink(weft::chan<double> west) {
  for ([[maybe_unused]] double x : west) {
  }
}

matrix multiply(const matrix& in, const matrix& a) {
  const std::size_t rows = a.size(), columns = a[0].size();
  const wires across = make_wires(rows, columns + 1), down = make_wires(rows + 1, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      weft::go(cell, a[i][j], across[i][j], down[i][j], across[i][j + 1], down[i + 1][j]);
  for (std::size_t i = 0; i < rows; ++i) {
    weft::go([&in, i, west = across[i][0]] {
      for (const auto& row : in) west.send(row[i]);
      west.close();
    });
    weft::go(sink, across[i][columns]);
  }
  for (std::size_t j = 0; j < columns; ++j)
    weft::go([count = in.size(), north = down[0][j]] {
      for (std::size_t k = 0; k < count; ++k) north.send(0);
    });
  matrix out(in.size());
  for (auto& row : out)
    for (weft::chan<double> south : down[rows]) row.push_back(*south.recv());
  return out;
}

matrix multiply_plainly(const matrix& in, const matrix& a) {
  matrix out(in.size(), std::vector<double>(a[0].size()));
  for (std::size_t i = 0; i < in.size(); ++i)
    for (std::size_t k = 0; k < a.size(); ++k)
      for (std::size_t j = 0; j < a[0].size(); ++j) out[i][j] += in[i][k] * a[k][j];
  return out;
}

matrix filled(std::size_t rows, std::size_t columns, int seed) {
  matrix m(rows, std::vector<double>(columns));
  for (auto& row : m)
    for (double& x : row) x = (seed = (seed * 31 + 7) % 101) - 50;  // whole numbers: every sum is exact
  return m;
}

}  // namespace

int main() {
  weft::run([] {
    const matrix in{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}}, a{{2, 0, 1}, {0, 3, 0}, {-1, 0, 4}};
    for (const auto& row : multiply(in, a)) {
      for (double x : row) std::printf("%4g", x);
      std::printf("\n");
    }
    for (const auto& [n, rows, columns] : {std::array<std::size_t, 3>{1, 1, 1}, {20, 1, 9}, {5, 12, 1}, {10, 16, 16}}) {
      const matrix left = filled(n, rows, 1), right = filled(rows, columns, 2);
      std::printf("%zu x %zu times %zu x %zu: %s\n", n, rows, rows, columns,
                  multiply(left, right) == multiply_plainly(left, right) ? "right" : "WRONG");
    }
  });
}
