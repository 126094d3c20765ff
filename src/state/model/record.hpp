#pragma once
/// @file
/// A row whose meaning the engine need not know: capabilities keep theirs as records, each kind with a described struct
/// of its own (tables/records.hpp), so that a new one touches no table.

#include "model/job/job.hpp"

namespace underway::model {

struct Record {
  std::string kind;  ///< "capsule"; no '/'
  std::string name;  ///< unique within its kind
  boost::json::value body;
  Revision create_index = 0;
  Revision modify_index = 0;
};

const describe::Structure& description(describe::Tag<Record>);

}  // namespace underway::model
