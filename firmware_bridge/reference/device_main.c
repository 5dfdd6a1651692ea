/* device_main.c - the reference on a desk: runs grove_bridge.c as a process that another one drives step by step.
 *
 * Requests on stdin, answers on stdout, all little endian. A request is op u8, size u16, at_us u64, data; its answer is
 * a list of records kind u8, size u16, data, closed by a record '.' with the deadline (u64, all ones: none).
 *
 *   B boot      nonce u32, reason u8                O opened   C closed   T tick   Z sleep
 *   F feed      bytes of the line                   S send     number u8, payload
 *   K kept      the last commands carried out, from the state file, oldest first: records k
 *   V vitals    percent u8, temp_dc i16             D decode   bytes for a bare decoder: each good frame comes back with
 *                                                              its message packed again; E encode a frame
 * Records: W bytes for the line, M command (number, payload), G greet, L lost, R reboot, f frame, c decoder's counts,
 * s the device's counts (after a tick).
 *
 * (Before a B only D, E and K are allowed.)
 *
 * With a file as first argument the retained memory, the boot record and both flash slots live in it: the process may
 * be killed at any moment and started again.
 */
#define _POSIX_C_SOURCE 200809L
#include "grove_bridge.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DONE 1024u

typedef struct {
    uint32_t counter, crc;
    gb_boot_record record;
} boot_page;

typedef struct {
    uint32_t made;
    gb_retained keep;
    boot_page pages[2]; /* the newer whole one counts */
    uint8_t slots[2][GB_SLOT_BYTES];
    struct {
        uint8_t size, data[1 + GB_MAX_PAYLOAD];
    } done[DONE]; /* commands carried out, under their sequence number */
} durable;

static durable *store;
static gb_device device;
static gb_boot_record boot;
static gb_decoder decoder;

static void fail(const char *what) {
    fprintf(stderr, "device_main: %s\n", what);
    exit(1);
}

static void record(uint8_t kind, const uint8_t *data, size_t size) {
    uint8_t head[3] = {kind, (uint8_t)size, (uint8_t)(size >> 8)};
    if (fwrite(head, 1, 3, stdout) != 3 || (size && fwrite(data, 1, size, stdout) != size)) exit(0);
}

/* ---- hooks ---------------------------------------------------------------------------------------------------- */

static void on_write(void *user, const uint8_t *data, size_t size) {
    (void)user;
    record('W', data, size);
}

static void on_command(void *user, const gb_message *message) {
    uint8_t data[1 + GB_MAX_PAYLOAD];
    (void)user;
    data[0] = message->number;
    int size = gb_pack(message, data + 1);
    if (size < 0) return;
    memcpy(store->done[device.command_seq % DONE].data, data, 1u + (size_t)size);
    store->done[device.command_seq % DONE].size = (uint8_t)(1 + size);
    record('M', data, 1u + (size_t)size);
}

static void on_greet(void *user) {
    (void)user;
    record('G', NULL, 0);
}

static void on_lost(void *user) {
    (void)user;
    record('L', NULL, 0);
}

static void on_reboot(void *user) {
    (void)user;
    record('R', NULL, 0);
}

static bool on_flash_write(void *user, uint8_t slot, uint32_t offset, const uint8_t *data, size_t size) {
    (void)user;
    if (offset > GB_SLOT_BYTES || size > GB_SLOT_BYTES - offset) return false;
    memcpy(store->slots[slot] + offset, data, size);
    return true;
}

static bool on_flash_read(void *user, uint8_t slot, uint32_t offset, uint8_t *data, size_t size) {
    (void)user;
    if (offset > GB_SLOT_BYTES || size > GB_SLOT_BYTES - offset) return false;
    memcpy(data, store->slots[slot] + offset, size);
    return true;
}

static uint32_t page_crc(const boot_page *page) {
    return gb_crc32((const uint8_t *)&page->record, sizeof page->record) ^ page->counter;
}

static int newest_page(void) {
    bool good[2];
    for (int i = 0; i < 2; i++) good[i] = store->pages[i].counter && store->pages[i].crc == page_crc(&store->pages[i]);
    if (good[0] && good[1]) return store->pages[1].counter > store->pages[0].counter;
    return good[0] ? 0 : good[1] ? 1 : -1;
}

static void on_save_boot(void *user, const gb_boot_record *changed) {
    int now = newest_page();
    boot_page *page = &store->pages[now == 0 ? 1 : 0];
    (void)user;
    page->crc = 0;
    page->counter = now < 0 ? 1 : store->pages[now].counter + 1;
    page->record = *changed;
    page->crc = page_crc(page);
}

static const gb_hooks hooks = {NULL,           on_write,      on_command,   on_greet, on_lost,
                               on_flash_write, on_flash_read, on_save_boot, on_reboot};

/* ---- requests ------------------------------------------------------------------------------------------------- */

static uint32_t u32(const uint8_t *in) {
    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

static void start(uint32_t nonce, uint8_t reason) {
    int page = newest_page();
    uint8_t state, slot;
    if (page < 0) {
        memset(&boot, 0, sizeof boot);
        strcpy(boot.versions[0], "1.0.0");
        on_save_boot(NULL, &boot);
    } else {
        boot = store->pages[page].record;
    }
    if (!store->made) {
        store->keep.stream = nonce;
        store->made = 1;
    }
    slot = gb_boot_select(&boot, &state);
    on_save_boot(NULL, &boot);
    gb_init(&device, &hooks, &store->keep, &boot, slot, state, nonce, 0x3FFFu, "grove-sim", reason);
}

static void decode(const uint8_t *data, size_t size) {
    gb_frame frame;
    for (size_t i = 0; i < size; i++) {
        if (!gb_decoder_push(&decoder, data[i], &frame)) continue;
        /* number, flags, session, seq, result, size of payload, payload, payload packed again */
        uint8_t out[10 + 2 * GB_MAX_PAYLOAD];
        gb_message message;
        out[0] = frame.number;
        out[1] = frame.flags;
        memcpy(out + 2, &frame.session, 2);
        memcpy(out + 4, &frame.seq, 4);
        out[8] = (uint8_t)gb_unpack(frame.number, frame.payload, frame.size, &message);
        out[9] = frame.size;
        memcpy(out + 10, frame.payload, frame.size);
        size_t used = 10u + frame.size;
        if (out[8] == GB_OK) {
            int again = gb_pack(&message, out + used);
            if (again < 0) fail("a message that was read cannot be written");
            used += (size_t)again;
        }
        record('f', out, used);
    }
    uint32_t counts[2] = {decoder.good, decoder.corrupt};
    record('c', (const uint8_t *)counts, sizeof counts);
}

static void encode(const uint8_t *data, size_t size) {
    gb_frame frame;
    uint8_t wire[GB_MAX_WIRE];
    if (size < GB_HEADER || size > GB_HEADER + GB_MAX_PAYLOAD) fail("encode: bad size");
    frame.number = data[0];
    frame.flags = data[1];
    memcpy(&frame.session, data + 2, 2);
    memcpy(&frame.seq, data + 4, 4);
    frame.size = (uint8_t)(size - GB_HEADER);
    memcpy(frame.payload, data + GB_HEADER, frame.size);
    record('W', wire, gb_encode_frame(&frame, wire));
}

static void request(uint8_t op, uint64_t at, const uint8_t *data, uint16_t size) {
    switch (op) {
    case 'B': start(u32(data), data[4]); break;
    case 'O': gb_opened(&device, at); break;
    case 'C': gb_closed(&device, at); break;
    case 'F': gb_feed(&device, at, data, size); break;
    case 'S': gb_send_raw(&device, at, data[0], data + 1, (uint8_t)(size - 1)); break;
    case 'Z': gb_leave(&device, at, GB_BYEREASON_SLEEP); break;
    case 'V':
        device.percent = data[0];
        memcpy(&device.temp_dc, data + 1, 2);
        break;
    case 'T':
        gb_tick(&device, at);
        record('s', (const uint8_t *)&device.stats, sizeof device.stats);
        break;
    case 'K':
        for (uint32_t back = DONE - 1; back > 0; back--) {
            uint32_t at = (store->keep.peer_committed - back + 1) % DONE;
            if (store->done[at].size) record('k', store->done[at].data, store->done[at].size);
        }
        break;
    case 'D': decode(data, size); break;
    case 'E': encode(data, size); break;
    default: fail("no such request");
    }
}

int main(int argc, char **argv) {
    static uint8_t data[65536];
    static durable forgetful;
    store = &forgetful;
    if (argc > 1) {
        int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
        if (fd < 0 || ftruncate(fd, sizeof(durable)) != 0) fail("cannot open the state file");
        void *mapped = mmap(NULL, sizeof(durable), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED) fail("cannot map the state file");
        store = mapped;
        close(fd);
    }
    for (;;) {
        uint8_t head[11];
        if (fread(head, 1, sizeof head, stdin) != sizeof head) return 0;
        uint16_t size = (uint16_t)(head[1] | head[2] << 8);
        uint64_t at, deadline;
        memcpy(&at, head + 3, 8);
        if (size && fread(data, 1, size, stdin) != size) return 0;
        request(head[0], at, data, size);
        deadline = device.keep ? gb_deadline(&device) : GB_NEVER;
        record('.', (const uint8_t *)&deadline, 8);
        fflush(stdout);
    }
}
