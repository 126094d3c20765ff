# A makefile that gives each source to clang-tidy, and again when it, a header of ours that it includes, or the
# configuration has changed. In: the sources, then `ninja -t deps`, which knows the headers of what has been built.
# Variable: BUILD, the build directory, seen from the root.
FNR == NR { headers[$1] = ""; next }
/^[^ ]/ { source = ""; next }
NF == 1 {
  sub(/^(\.\.\/)+/, "", $1)
  if (source == "" && $1 in headers) source = $1
  else if (source != "" && $1 ~ /^src\//) { headers[source] = headers[source] " " $1; known[$1] }
}
END {
  for (source in headers) {
    stamp = BUILD "/tidy/" source
    printf "all: %s\n%s: .clang-tidy %s%s\n\t@mkdir -p $(@D)\n", stamp, stamp, source, headers[source]
    printf "\t@clang-tidy-19 -p %s --quiet %s 2>$@.log || { cat $@.log >&2; false; }\n\t@touch $@\n", BUILD, source
  }
  # One that has been removed is no reason to stop: whoever included it has changed too.
  for (header in known) printf "%s:\n", header
}
