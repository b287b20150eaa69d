/* A driver's library without the hardware. The file NVML_SIMULATED holds numbers: the count of devices, then for each
 * util % | used MiB | total MiB | mW | mJ | C | throttle reasons | slices (0: not divided) | whether slices tell their use.
 * A slice has the memory of its device divided by their number, and its use in every sample.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { long util, used, total, mw, mj, celsius, reasons, slices, has_gpm; } Device;
typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { char legacy[16]; unsigned numbers[5]; char bus[32]; } Pci;
typedef struct { unsigned id, error; double value; char *names[3]; } Metric;
typedef struct { unsigned version, count; void *one, *two; Metric metrics[98]; } Metrics;
enum { NOT_SUPPORTED = 3, NOT_FOUND = 6, HANG = -1 };

static Device devices[8];
static int count;

static int refresh(void) {
    FILE *file = fopen(getenv("NVML_SIMULATED"), "r");
    if (!file || fscanf(file, "%d", &count) != 1) return 9;
    for (int i = 0; i < count; i++) {
        long *field = (long *)&devices[i];
        for (int k = 0; k < 9; k++) if (fscanf(file, "%ld", field + k) != 1) return 9;
    }
    fclose(file);
    return 0;
}
/* Handles: 1..8 devices, 100 * device + 1 + slice their slices. */
static Device *of(void *handle) { long h = (long)handle; refresh(); return &devices[(h >= 100 ? h / 100 : h) - 1]; }
static int is_slice(void *handle) { return (long)handle >= 100; }

int nvmlInit_v2(void) { return refresh(); }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = count; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { *h = (void *)(long)(i + 1); return 0; }
int nvmlDeviceGetMigMode(void *h, unsigned *now, unsigned *then) { *now = *then = of(h)->slices > 0; return 0; }
int nvmlDeviceGetMaxMigDeviceCount(void *h, unsigned *n) { (void)h; *n = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *h, unsigned i, void **part) {
    if ((long)i >= of(h)->slices) return NOT_FOUND;
    *part = (void *)((long)h * 100 + 1 + i);
    return 0;
}
int nvmlDeviceGetGpuInstanceId(void *h, unsigned *id) { *id = (long)h % 100; return is_slice(h) ? 0 : NOT_SUPPORTED; }
int nvmlDeviceGetPciInfo_v3(void *h, Pci *pci) {
    memset(pci, 0, sizeof *pci);
    snprintf(pci->bus, sizeof pci->bus, "00000000:%02lX:00.0", (long)h);
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *h, Memory *m) {
    Device *d = of(h);
    long parts = is_slice(h) ? d->slices : 1;
    m->total = (unsigned long long)d->total / parts << 20;
    m->used = (unsigned long long)d->used / parts << 20;
    m->free = m->total - m->used;
    return 0;
}
int nvmlDeviceGetUtilizationRates(void *h, Utilization *u) {
    Device *d = of(h);
    if (d->util == HANG) sleep(60);
    if (is_slice(h) || d->slices) return NOT_SUPPORTED;
    u->gpu = d->util; u->memory = 1;
    return 0;
}
int nvmlDeviceGetPowerUsage(void *h, unsigned *mw) { *mw = of(h)->mw; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(void *h, unsigned *mw) { (void)h; *mw = 400000; return 0; }
int nvmlDeviceGetTotalEnergyConsumption(void *h, unsigned long long *mj) { *mj = of(h)->mj; return 0; }
int nvmlDeviceGetTemperature(void *h, unsigned sensor, unsigned *c) { *c = of(h)->celsius; return sensor ? NOT_SUPPORTED : 0; }
int nvmlDeviceGetClockInfo(void *h, unsigned kind, unsigned *mhz) { (void)h; *mhz = kind == 2 ? 1215 : 1410; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *h, unsigned long long *r) { *r = of(h)->reasons; return 0; }
int nvmlGpmSampleAlloc(void **s) { *s = calloc(1, sizeof(long)); return 0; }
int nvmlGpmMigSampleGet(void *h, unsigned instance, long *s) {
    Device *d = of(h);
    if (!d->has_gpm) return NOT_SUPPORTED;
    *s = d->util + instance;
    return 0;
}
int nvmlGpmMetricsGet(Metrics *m) {
    if (m->version != 1 || m->count != 1 || m->metrics[0].id != 1 || !m->one || !m->two) return 2;
    m->metrics[0].error = 0;
    m->metrics[0].value = *(long *)m->two;
    return 0;
}
