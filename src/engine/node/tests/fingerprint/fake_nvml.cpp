// Stands for NVIDIA's library: the functions that node/fingerprint/nvidia.cpp calls, on a machine with two GPUs of one
// model and a third that MIG divides in two.
#include <cstdio>
#include <cstring>

namespace {

struct Gpu {
  const char *uuid, *name, *bus;
  unsigned minor;
  unsigned long long memory;
  bool divided;
  unsigned instance;
};
Gpu gpus[] = {{"GPU-aaaa", "Test A100", "00000000:3B:00.0", 0, 40ULL << 30, false, 0},
              {"GPU-bbbb", "Test A100", "00000000:5E:00.0", 1, 40ULL << 30, false, 0},
              {"GPU-cccc", "Test H100", "00000000:86:00.0", 2, 80ULL << 30, true, 0}};
Gpu parts[] = {{"MIG-1111", "Test H100 MIG 1g.10gb", "", 2, 10ULL << 30, false, 1},
               {"MIG-2222", "Test H100 MIG 1g.10gb", "", 2, 10ULL << 30, false, 2}};

struct Memory {
  unsigned long long total, free, used;
};
struct PciInfo {
  char legacy_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char id[32];
};
const Gpu& of(void* handle) { return *static_cast<Gpu*>(handle); }
int put(const char* text, char* out, unsigned size) { return std::snprintf(out, size, "%s", text) < 0 ? 999 : 0; }
int give(unsigned value, unsigned* out) {
  *out = value;
  return 0;
}

}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* out, unsigned size) { return put("535.104.05", out, size); }
int nvmlSystemGetCudaDriverVersion(int* out) {
  *out = 12020;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* out) { return give(3, out); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
  *out = &gpus[index];
  return 0;
}
int nvmlDeviceGetUUID(void* gpu, char* out, unsigned size) { return put(of(gpu).uuid, out, size); }
int nvmlDeviceGetName(void* gpu, char* out, unsigned size) { return put(of(gpu).name, out, size); }
int nvmlDeviceGetMinorNumber(void* gpu, unsigned* out) { return give(of(gpu).minor, out); }
int nvmlDeviceGetMemoryInfo(void* gpu, Memory* out) {
  *out = {of(gpu).memory, of(gpu).memory, 0};
  return 0;
}
int nvmlDeviceGetBAR1MemoryInfo(void*, Memory* out) {
  *out = {64ULL << 30, 64ULL << 30, 0};
  return 0;
}
int nvmlDeviceGetPowerManagementLimit(void*, unsigned* out) { return give(400'000, out); }
int nvmlDeviceGetMaxClockInfo(void*, unsigned kind, unsigned* out) { return give(kind == 2 ? 1215 : 1410, out); }
int nvmlDeviceGetPciInfo_v3(void* gpu, PciInfo* out) {
  *out = {};
  return put(of(gpu).bus, out->id, sizeof out->id);
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* out) { return give(4, out); }
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* out) { return give(16, out); }
int nvmlDeviceGetDisplayMode(void*, unsigned* out) { return give(0, out); }
int nvmlDeviceGetPersistenceMode(void*, unsigned* out) { return give(1, out); }
int nvmlDeviceGetMigMode(void* gpu, unsigned* current, unsigned* pending) {
  *pending = of(gpu).divided ? 1 : 0;
  return give(*pending, current);
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* out) { return give(7, out); }
int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned index, void** out) {
  if (index >= 2) return 6;
  *out = &parts[index];
  return 0;
}
int nvmlDeviceGetGpuInstanceId(void* part, unsigned* out) { return give(of(part).instance, out); }
int nvmlDeviceGetComputeInstanceId(void*, unsigned* out) { return give(0, out); }
}
