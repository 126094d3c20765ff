#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "pch_base.hpp"
