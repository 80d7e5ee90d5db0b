// Animations of a well-known introduction without a window: one picture is made and written to a file, then the program
// ends as if its window had been closed.
#pragma once
#include "cpu_bitmap.h"
#include <iostream>
struct CPUAnimBitmap {
    unsigned char *pixels;
    int width, height;
    void *dataBlock;
    void (*clickDrag)(void *, int, int, int, int) = NULL;
    CPUAnimBitmap(int w, int h, void *data = NULL) : pixels(new unsigned char[(long)w * h * 4]), width(w), height(h), dataBlock(data) {}
    ~CPUAnimBitmap() { delete[] pixels; }
    unsigned char *get_ptr(void) const { return pixels; }
    long image_size(void) const { return (long)width * height * 4; }
    void click_drag(void (*function)(void *, int, int, int, int)) { clickDrag = function; }
    void anim_and_exit(void (*make)(void *, int), void (*closed)(void *)) {
        make(dataBlock, 1);
        grader_write_picture("bitmap.ppm", pixels, width, height);
        closed(dataBlock);
        exit(0);
    }
};
