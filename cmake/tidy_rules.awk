# A makefile that gives each translation unit below src/ to clang-tidy, and again when a file of ours in it or the
# configuration has changed. A batch (cmake/Targets.cmake) is one: sixteen files that share their headers cost as much as
# two of them alone. In: `ninja -t deps`, which knows what was read for each object. Variable: BUILD, the build
# directory, seen from the root.
function take() {
  if (source == "" || source in files || (getline line < source) < 0) return  # it was built once, and has gone
  close(source)
  files[source] = read
}
/^[^ ]/ {
  take()
  source = read = ""
  if ($1 !~ /^src\/.*\.cpp\.o:$/ || $1 ~ /fuzz|\/linkcheck_|verify_interface/) { looking = 0; next }
  looking = 1
  if ($1 ~ /\/batches\//) {
    source = BUILD "/" $1
    sub(/CMakeFiles\/[^\/]*\//, "", source)
    sub(/\.o:$/, "", source)
  }
  next
}
looking && NF == 1 {
  if (!sub(/^(\.\.\/)+src\//, "src/", $1)) next  # what is not of the sources is the build's, or the system's
  if (source == "" && $1 ~ /\.cpp$/) source = $1
  read = read " " $1
  known[$1]
}
END {
  take()
  for (source in files) {
    stamp = BUILD "/tidy/" source
    printf "all: %s\n%s: .clang-tidy %s%s\n\t@mkdir -p $(@D)\n", stamp, stamp, source, files[source]
    printf "\t@clang-tidy-19 -p %s --checks=-bugprone-suspicious-include --quiet %s 2>$@.log || { cat $@.log >&2; false; }\n", BUILD, source
    printf "\t@touch $@\n"
  }
  # One that has been removed is no reason to stop: whoever included it has changed too.
  for (file in known) printf "%s:\n", file
}
