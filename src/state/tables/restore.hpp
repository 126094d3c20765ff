#pragma once
/// @file
/// What a restoration needs to know of how tables lie in the store.

#include "tables/tables.hpp"

namespace underway::tables {

/// Throws Error(internal) naming the first key that this version cannot read.
void check_rows(const std::vector<store::KeyValue>& rows);

/// Keys without a value. Put with a restored state, they say of every table that something may have gone with it: who
/// waits for a row that the state does not have is told.
std::vector<std::string> deletion_marks();

}  // namespace underway::tables
