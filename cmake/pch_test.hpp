#pragma once
#include "pch_base.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
