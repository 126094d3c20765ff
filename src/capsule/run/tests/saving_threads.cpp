/// @file
/// A service of several threads, of which one executes another program while others save:
///
///   saving_threads first|other PROGRAM ARGUMENT…
///
/// `first` renames /srv/held to /srv/held.done with its first thread, `other` with another one. A further thread
/// renames /srv/more to /srv/more.done when there is /local/more. When there is /local/exec one that saves nothing
/// executes the program: with `first` another one than the first, with `other` the first.

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace {

void wait_for(const char* path) {
  while (access(path, F_OK) != 0) usleep(2000);
}

void* save(void*) {
  rename("/srv/held", "/srv/held.done");
  for (;;) pause();
}

void* save_more(void*) {
  wait_for("/local/more");
  rename("/srv/more", "/srv/more.done");
  for (;;) pause();
}

void* execute(void* command) {
  wait_for("/local/exec");
  char** words = static_cast<char**>(command);
  execv(words[0], words);
  _exit(127);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool first = strcmp(argv[1], "first") == 0;
  pthread_t thread{};
  pthread_create(&thread, nullptr, save_more, nullptr);
  pthread_create(&thread, nullptr, first ? execute : save, static_cast<void*>(argv + 2));
  first ? save(nullptr) : execute(static_cast<void*>(argv + 2));
}
