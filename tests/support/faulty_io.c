/* A disk that can be told to fail and that remembers what it was asked.
 *
 * Preloaded into a process, it stands in front of the C library's calls that change files:
 * writes, truncations, syncs, renames and deletions of regular files below one directory.
 *
 *   faulty_below(directory)        calls below it count
 *   faulty_trace(path)             from now on each call is appended to a file, in order
 *   faulty_fail(kind, nth, error)  the nth call of a kind from now on fails, and so do all after
 *                                  it; with error 0 the process is killed (SIGKILL) instead
 *   faulty_calm()                  nothing fails any more
 *   faulty_count(kind)             calls of a kind since faulty_fail
 *
 * Record: kind (1 byte), bytes of path, bytes of second path (u32), offset, bytes of data (u64),
 * then path, second path, data. Little-endian, as the machine is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 'w', TRUNCATE = 't', SYNC = 's', RENAME = 'r', UNLINK = 'u', MAKE = 'm' };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static int trace = -1;
static int fail_kind, fail_error;
static long fail_at = -1;
static long counts[256];

void faulty_below(const char *directory) { strncpy(root, directory, sizeof root - 1); }

void faulty_trace(const char *path) {
    trace = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

void faulty_fail(int kind, long nth, int error) {
    memset(counts, 0, sizeof counts);
    fail_kind = kind, fail_error = error, fail_at = nth;
}

void faulty_calm(void) { fail_at = -1; }

long faulty_count(int kind) { return counts[kind & 255]; }

static int below_root(const char *path) {
    size_t size = strlen(root);
    return size && strncmp(path, root, size) == 0;
}

/* The path of a descriptor below the root, or nothing. */
static int path_of(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return below_root(path);
}

static void absolute(const char *path, char *out) {
    if (path[0] == '/') {
        strncpy(out, path, PATH_MAX - 1);
        out[PATH_MAX - 1] = 0;
    } else {
        char here[PATH_MAX];
        if (!getcwd(here, sizeof here)) here[0] = 0;
        if (snprintf(out, PATH_MAX, "%s/%s", here, path) >= PATH_MAX) out[0] = 0;
    }
}

/* Whether this call is to fail. Counts it. */
static int fails(int kind) {
    pthread_mutex_lock(&lock);
    long number = counts[kind]++;
    int failing = fail_at >= 0 && kind == fail_kind && number >= fail_at;
    pthread_mutex_unlock(&lock);
    if (failing && !fail_error) kill(getpid(), SIGKILL);
    if (failing) errno = fail_error;
    return failing;
}

static void put(const void *data, size_t size) {
    const char *at = data;
    while (size) {
        ssize_t done = syscall(SYS_write, trace, at, size);
        if (done <= 0) abort();
        at += done, size -= (size_t)done;
    }
}

static void note(int kind, const char *path, const char *second, uint64_t offset,
                 const void *data, uint64_t size) {
    if (trace < 0) return;
    uint8_t code = (uint8_t)kind;
    uint32_t first_size = (uint32_t)strlen(path), second_size = (uint32_t)strlen(second);
    pthread_mutex_lock(&lock);
    put(&code, 1);
    put(&first_size, 4), put(&second_size, 4);
    put(&offset, 8), put(&size, 8);
    put(path, first_size), put(second, second_size), put(data, size);
    pthread_mutex_unlock(&lock);
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define WRITES(name, offset_type) \
    ssize_t name(int descriptor, const void *data, size_t size, offset_type offset) { \
        REAL(name); \
        char path[PATH_MAX]; \
        if (!path_of(descriptor, path)) return real(descriptor, data, size, offset); \
        if (fails(WRITE)) return -1; \
        ssize_t done = real(descriptor, data, size, offset); \
        if (done > 0) note(WRITE, path, "", (uint64_t)offset, data, (uint64_t)done); \
        return done; \
    }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)

static uint64_t place(int descriptor) {
    if (fcntl(descriptor, F_GETFL) & O_APPEND) {
        struct stat found;
        return fstat(descriptor, &found) ? 0 : (uint64_t)found.st_size;
    }
    off_t at = lseek(descriptor, 0, SEEK_CUR);
    return at < 0 ? 0 : (uint64_t)at;
}

ssize_t write(int descriptor, const void *data, size_t size) {
    REAL(write);
    char path[PATH_MAX];
    if (!path_of(descriptor, path)) return real(descriptor, data, size);
    if (fails(WRITE)) return -1;
    uint64_t offset = place(descriptor);
    ssize_t done = real(descriptor, data, size);
    if (done > 0) note(WRITE, path, "", offset, data, (uint64_t)done);
    return done;
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    REAL(writev);
    char path[PATH_MAX];
    if (!path_of(descriptor, path)) return real(descriptor, parts, count);
    if (fails(WRITE)) return -1;
    uint64_t offset = place(descriptor);
    ssize_t done = real(descriptor, parts, count);
    ssize_t left = done;
    for (int part = 0; part < count && left > 0; part++) {
        size_t size = parts[part].iov_len < (size_t)left ? parts[part].iov_len : (size_t)left;
        note(WRITE, path, "", offset, parts[part].iov_base, size);
        offset += size, left -= (ssize_t)size;
    }
    return done;
}

#define TRUNCATES(name, offset_type) \
    int name(int descriptor, offset_type size) { \
        REAL(name); \
        char path[PATH_MAX]; \
        if (!path_of(descriptor, path)) return real(descriptor, size); \
        if (fails(TRUNCATE)) return -1; \
        int done = real(descriptor, size); \
        if (!done) note(TRUNCATE, path, "", (uint64_t)size, "", 0); \
        return done; \
    }
TRUNCATES(ftruncate, off_t)
TRUNCATES(ftruncate64, off64_t)

#define SYNCS(name) \
    int name(int descriptor) { \
        REAL(name); \
        char path[PATH_MAX]; \
        if (!path_of(descriptor, path)) return real(descriptor); \
        if (fails(SYNC)) return -1; \
        note(SYNC, path, "", 0, "", 0); \
        return 0; \
    }
/* What is synced is the trace's to say: the test has no need of the real disk. */
SYNCS(fsync)
SYNCS(fdatasync)

/* An opening is noted where it makes or empties a file. */
#define OPENS(name) \
    int name(const char *file, int flags, ...) { \
        REAL(name); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        char path[PATH_MAX]; \
        absolute(file, path); \
        struct stat found; \
        int fresh = below_root(path) && (flags & (O_CREAT | O_TRUNC)) && \
                    (stat(path, &found) || (flags & O_TRUNC)); \
        int descriptor = real(file, flags, mode); \
        if (descriptor >= 0 && fresh) note(TRUNCATE, path, "", 0, "", 0); \
        return descriptor; \
    }
OPENS(open)
OPENS(open64)

/* Copies within the kernel are refused, so that the caller writes. */
ssize_t sendfile(int out, int in, off_t *offset, size_t count) {
    REAL(sendfile);
    char path[PATH_MAX];
    if (!path_of(out, path)) return real(out, in, offset, count);
    errno = ENOTSOCK;
    return -1;
}

ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t size, unsigned flags) {
    REAL(copy_file_range);
    char path[PATH_MAX];
    if (!path_of(out, path)) return real(in, in_at, out, out_at, size, flags);
    errno = EXDEV;
    return -1;
}

int rename(const char *from, const char *to) {
    REAL(rename);
    char first[PATH_MAX], second[PATH_MAX];
    absolute(from, first), absolute(to, second);
    if (!below_root(first) && !below_root(second)) return real(from, to);
    if (fails(RENAME)) return -1;
    int done = real(from, to);
    if (!done) note(RENAME, first, second, 0, "", 0);
    return done;
}

int unlink(const char *name) {
    REAL(unlink);
    char path[PATH_MAX];
    absolute(name, path);
    if (!below_root(path)) return real(name);
    if (fails(UNLINK)) return -1;
    int done = real(name);
    if (!done) note(UNLINK, path, "", 0, "", 0);
    return done;
}

int rmdir(const char *name) {
    REAL(rmdir);
    char path[PATH_MAX];
    absolute(name, path);
    int done = real(name);
    if (!done && below_root(path)) note(UNLINK, path, "", 0, "", 0);
    return done;
}

int mkdir(const char *name, mode_t mode) {
    REAL(mkdir);
    char path[PATH_MAX];
    absolute(name, path);
    int done = real(name, mode);
    if (!done && below_root(path)) note(MAKE, path, "", 0, "", 0);
    return done;
}
