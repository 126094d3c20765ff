#include "cli/command.hpp"
#include "nomad/program.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const bool as_nomad = argc > 0 && underway::nomad::is_called(argv[0]);
  return as_nomad ? underway::nomad::run_program(words) : underway::cli::run_program(words);
}
