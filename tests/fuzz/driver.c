/* SPDX-License-Identifier: MIT */
/*
 * driver.c -- a fuzz target's main without a fuzzer: each argument is a file,
 * or a directory whose files are run one after the other.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count;

static int complain(const char *path)
{
    perror(path);
    return -1;
}

/* Of its own size, so that reading beyond the end is seen. */
static int run_file(const char *path, size_t size)
{
    uint8_t *data = malloc(size != 0 ? size : 1);
    FILE *file = fopen(path, "rb");
    int fine =
        data != NULL && file != NULL && fread(data, 1, size, file) == size;

    if (fine) {
        LLVMFuzzerTestOneInput(data, size);
        count++;
    }
    if (file != NULL)
        fclose(file);
    free(data);
    return fine ? 0 : complain(path);
}

static int run_path(const char *path);

static int run_directory(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    char name[4096];
    int status = 0;

    if (dir == NULL)
        return complain(path);
    while (status == 0 && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        status = run_path(name);
    }
    closedir(dir);
    return status;
}

static int run_path(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return complain(path);
    if (S_ISDIR(info.st_mode))
        return run_directory(path);
    return run_file(path, (size_t)info.st_size);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (run_path(argv[i]) != 0)
            return 1;
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1; /* no corpus is no test */
}
