/* grove_bridge.c - see grove_bridge.h. */
#include "grove_bridge.h"

#include <string.h>

/* ---- tables -------------------------------------------------------------------------------------------------- */

typedef enum {
    K_U8, K_U16, K_U32, K_U64, K_I16, K_I64, K_BOOL, K_ENUM, K_PERCENT, K_OPT_U16, K_OPT_I16, K_BYTES32, K_VIEW,
    K_SAMPLES
} gb_kind;

typedef struct {
    uint8_t kind;
    uint8_t last; /* largest known value of an enumeration */
    uint16_t offset;
} gb_field;

typedef struct {
    uint8_t number, way, delivery, count;
    const gb_field *fields;
} gb_row;

enum { WAY_BOTH, WAY_TO_HOST, WAY_TO_DEVICE };
enum { DELIVERY_LINK, DELIVERY_DATAGRAM, DELIVERY_ASSURED };

/* BEGIN GENERATED */
static const gb_field f_hello[] = {
    {K_U8, 0, offsetof(gb_hello, version_min)},
    {K_U8, 0, offsetof(gb_hello, version_max)},
    {K_ENUM, 2, offsetof(gb_hello, role)},
    {K_BOOL, 0, offsetof(gb_hello, reply)},
    {K_U32, 0, offsetof(gb_hello, nonce)},
    {K_U32, 0, offsetof(gb_hello, echo)},
    {K_U32, 0, offsetof(gb_hello, stream)},
    {K_U32, 0, offsetof(gb_hello, base)},
    {K_U32, 0, offsetof(gb_hello, peer_stream)},
    {K_U32, 0, offsetof(gb_hello, committed)},
    {K_U32, 0, offsetof(gb_hello, capabilities)},
    {K_U16, 0, offsetof(gb_hello, keepalive_ms)},
    {K_U8, 0, offsetof(gb_hello, window)},
    {K_VIEW, 0, offsetof(gb_hello, name)},
};
static const gb_field f_ack[] = {
    {K_U32, 0, offsetof(gb_ack, committed)},
    {K_U32, 0, offsetof(gb_ack, seen)},
};
static const gb_field f_keep_alive[] = {
    {K_U32, 0, offsetof(gb_keep_alive, uptime_ms)},
};
static const gb_field f_time_ping[] = {
    {K_U64, 0, offsetof(gb_time_ping, sent_us)},
};
static const gb_field f_time_pong[] = {
    {K_U64, 0, offsetof(gb_time_pong, ping_us)},
    {K_U64, 0, offsetof(gb_time_pong, received_us)},
    {K_U64, 0, offsetof(gb_time_pong, sent_us)},
};
static const gb_field f_bye[] = {
    {K_ENUM, 4, offsetof(gb_bye, reason)},
};
static const gb_field f_battery[] = {
    {K_U64, 0, offsetof(gb_battery, at_us)},
    {K_PERCENT, 0, offsetof(gb_battery, percent)},
    {K_ENUM, 4, offsetof(gb_battery, charging)},
    {K_ENUM, 5, offsetof(gb_battery, health)},
    {K_OPT_U16, 0, offsetof(gb_battery, mv)},
    {K_OPT_I16, 0, offsetof(gb_battery, ma)},
    {K_OPT_I16, 0, offsetof(gb_battery, temp_dc)},
};
static const gb_field f_worn[] = {
    {K_U64, 0, offsetof(gb_worn, at_us)},
    {K_BOOL, 0, offsetof(gb_worn, worn)},
};
static const gb_field f_gesture[] = {
    {K_U64, 0, offsetof(gb_gesture, at_us)},
    {K_ENUM, 3, offsetof(gb_gesture, control)},
    {K_ENUM, 5, offsetof(gb_gesture, kind)},
    {K_U16, 0, offsetof(gb_gesture, held_ms)},
};
static const gb_field f_imu_summary[] = {
    {K_U64, 0, offsetof(gb_imu_summary, at_us)},
    {K_U16, 0, offsetof(gb_imu_summary, period_ms)},
    {K_ENUM, 4, offsetof(gb_imu_summary, activity)},
    {K_I16, 0, offsetof(gb_imu_summary, mean_x_mg)},
    {K_I16, 0, offsetof(gb_imu_summary, mean_y_mg)},
    {K_I16, 0, offsetof(gb_imu_summary, mean_z_mg)},
    {K_U16, 0, offsetof(gb_imu_summary, std_mg)},
    {K_U16, 0, offsetof(gb_imu_summary, peak_mg)},
    {K_U16, 0, offsetof(gb_imu_summary, gyro_ddps)},
    {K_U16, 0, offsetof(gb_imu_summary, steps)},
};
static const gb_field f_imu_raw[] = {
    {K_U64, 0, offsetof(gb_imu_raw, at_us)},
    {K_U32, 0, offsetof(gb_imu_raw, period_us)},
    {K_SAMPLES, 0, offsetof(gb_imu_raw, samples)},
};
static const gb_field f_light[] = {
    {K_U64, 0, offsetof(gb_light, at_us)},
    {K_U32, 0, offsetof(gb_light, lux)},
};
static const gb_field f_mute[] = {
    {K_U64, 0, offsetof(gb_mute, at_us)},
    {K_BOOL, 0, offsetof(gb_mute, muted)},
};
static const gb_field f_led_state[] = {
    {K_U64, 0, offsetof(gb_led_state, at_us)},
    {K_ENUM, 2, offsetof(gb_led_state, led)},
    {K_ENUM, 4, offsetof(gb_led_state, mode)},
    {K_BOOL, 0, offsetof(gb_led_state, working)},
};
static const gb_field f_camera_state[] = {
    {K_U64, 0, offsetof(gb_camera_state, at_us)},
    {K_BOOL, 0, offsetof(gb_camera_state, powered)},
    {K_BOOL, 0, offsetof(gb_camera_state, working)},
};
static const gb_field f_wake[] = {
    {K_U64, 0, offsetof(gb_wake, at_us)},
    {K_ENUM, 11, offsetof(gb_wake, reason)},
};
static const gb_field f_sleep[] = {
    {K_U64, 0, offsetof(gb_sleep, at_us)},
    {K_ENUM, 11, offsetof(gb_sleep, reason)},
};
static const gb_field f_log[] = {
    {K_U64, 0, offsetof(gb_log, at_us)},
    {K_ENUM, 4, offsetof(gb_log, level)},
    {K_VIEW, 0, offsetof(gb_log, text)},
};
static const gb_field f_fault[] = {
    {K_U64, 0, offsetof(gb_fault, at_us)},
    {K_ENUM, 7, offsetof(gb_fault, fault)},
    {K_BOOL, 0, offsetof(gb_fault, active)},
    {K_U32, 0, offsetof(gb_fault, detail)},
};
static const gb_field f_firmware[] = {
    {K_U64, 0, offsetof(gb_firmware, at_us)},
    {K_ENUM, 3, offsetof(gb_firmware, state)},
    {K_VIEW, 0, offsetof(gb_firmware, version)},
    {K_VIEW, 0, offsetof(gb_firmware, board)},
};
static const gb_field f_clock_report[] = {
    {K_U64, 0, offsetof(gb_clock_report, at_us)},
    {K_I64, 0, offsetof(gb_clock_report, utc_us)},
    {K_ENUM, 3, offsetof(gb_clock_report, source)},
};
static const gb_field f_update_status[] = {
    {K_U32, 0, offsetof(gb_update_status, update)},
    {K_ENUM, 7, offsetof(gb_update_status, state)},
    {K_ENUM, 9, offsetof(gb_update_status, reason)},
    {K_U32, 0, offsetof(gb_update_status, offset)},
};
static const gb_field f_set_led[] = {
    {K_ENUM, 2, offsetof(gb_set_led, led)},
    {K_ENUM, 4, offsetof(gb_set_led, mode)},
    {K_U16, 0, offsetof(gb_set_led, period_ms)},
};
static const gb_field f_haptic[] = {
    {K_ENUM, 5, offsetof(gb_haptic, pattern)},
    {K_U8, 0, offsetof(gb_haptic, strength)},
    {K_U8, 0, offsetof(gb_haptic, repeat)},
};
static const gb_field f_tone[] = {
    {K_U16, 0, offsetof(gb_tone, hz)},
    {K_U16, 0, offsetof(gb_tone, ms)},
    {K_U8, 0, offsetof(gb_tone, volume)},
};
static const gb_field f_display[] = {
    {K_U16, 0, offsetof(gb_display, show_ms)},
    {K_U8, 0, offsetof(gb_display, line)},
    {K_VIEW, 0, offsetof(gb_display, text)},
};
static const gb_field f_camera_power[] = {
    {K_BOOL, 0, offsetof(gb_camera_power, on)},
};
static const gb_field f_sleep_request[] = {
    {K_U32, 0, offsetof(gb_sleep_request, wake_after_s)},
};
static const gb_field f_imu_stream[] = {
    {K_U16, 0, offsetof(gb_imu_stream, hz)},
    {K_U16, 0, offsetof(gb_imu_stream, ms)},
};
static const gb_field f_clock_set[] = {
    {K_U64, 0, offsetof(gb_clock_set, device_us)},
    {K_I64, 0, offsetof(gb_clock_set, utc_us)},
    {K_I16, 0, offsetof(gb_clock_set, offset_min)},
};
static const gb_field f_update_begin[] = {
    {K_U32, 0, offsetof(gb_update_begin, update)},
    {K_U32, 0, offsetof(gb_update_begin, size)},
    {K_BYTES32, 0, offsetof(gb_update_begin, sha256)},
    {K_VIEW, 0, offsetof(gb_update_begin, version)},
};
static const gb_field f_update_chunk[] = {
    {K_U32, 0, offsetof(gb_update_chunk, update)},
    {K_U32, 0, offsetof(gb_update_chunk, offset)},
    {K_VIEW, 0, offsetof(gb_update_chunk, data)},
};
static const gb_field f_update_finish[] = {
    {K_U32, 0, offsetof(gb_update_finish, update)},
};
static const gb_field f_update_confirm[] = {
    {K_U32, 0, offsetof(gb_update_confirm, update)},
};
static const gb_field f_update_abort[] = {
    {K_U32, 0, offsetof(gb_update_abort, update)},
};

static const gb_row rows[] = {
    {GB_HELLO, WAY_BOTH, DELIVERY_LINK, 14, f_hello},
    {GB_ACK, WAY_BOTH, DELIVERY_LINK, 2, f_ack},
    {GB_KEEP_ALIVE, WAY_BOTH, DELIVERY_LINK, 1, f_keep_alive},
    {GB_TIME_PING, WAY_BOTH, DELIVERY_LINK, 1, f_time_ping},
    {GB_TIME_PONG, WAY_BOTH, DELIVERY_LINK, 3, f_time_pong},
    {GB_BYE, WAY_BOTH, DELIVERY_LINK, 1, f_bye},
    {GB_BATTERY, WAY_TO_HOST, DELIVERY_ASSURED, 7, f_battery},
    {GB_WORN, WAY_TO_HOST, DELIVERY_ASSURED, 2, f_worn},
    {GB_GESTURE, WAY_TO_HOST, DELIVERY_ASSURED, 4, f_gesture},
    {GB_IMU_SUMMARY, WAY_TO_HOST, DELIVERY_DATAGRAM, 10, f_imu_summary},
    {GB_IMU_RAW, WAY_TO_HOST, DELIVERY_DATAGRAM, 3, f_imu_raw},
    {GB_LIGHT, WAY_TO_HOST, DELIVERY_DATAGRAM, 2, f_light},
    {GB_MUTE, WAY_TO_HOST, DELIVERY_ASSURED, 2, f_mute},
    {GB_LED_STATE, WAY_TO_HOST, DELIVERY_ASSURED, 4, f_led_state},
    {GB_CAMERA_STATE, WAY_TO_HOST, DELIVERY_ASSURED, 3, f_camera_state},
    {GB_WAKE, WAY_TO_HOST, DELIVERY_ASSURED, 2, f_wake},
    {GB_SLEEP, WAY_TO_HOST, DELIVERY_ASSURED, 2, f_sleep},
    {GB_LOG, WAY_TO_HOST, DELIVERY_ASSURED, 3, f_log},
    {GB_FAULT, WAY_TO_HOST, DELIVERY_ASSURED, 4, f_fault},
    {GB_FIRMWARE, WAY_TO_HOST, DELIVERY_ASSURED, 4, f_firmware},
    {GB_CLOCK_REPORT, WAY_TO_HOST, DELIVERY_ASSURED, 3, f_clock_report},
    {GB_UPDATE_STATUS, WAY_TO_HOST, DELIVERY_ASSURED, 4, f_update_status},
    {GB_SET_LED, WAY_TO_DEVICE, DELIVERY_ASSURED, 3, f_set_led},
    {GB_HAPTIC, WAY_TO_DEVICE, DELIVERY_ASSURED, 3, f_haptic},
    {GB_TONE, WAY_TO_DEVICE, DELIVERY_ASSURED, 3, f_tone},
    {GB_DISPLAY, WAY_TO_DEVICE, DELIVERY_ASSURED, 3, f_display},
    {GB_CAMERA_POWER, WAY_TO_DEVICE, DELIVERY_ASSURED, 1, f_camera_power},
    {GB_SLEEP_REQUEST, WAY_TO_DEVICE, DELIVERY_ASSURED, 1, f_sleep_request},
    {GB_IMU_STREAM, WAY_TO_DEVICE, DELIVERY_ASSURED, 2, f_imu_stream},
    {GB_CLOCK_SET, WAY_TO_DEVICE, DELIVERY_ASSURED, 3, f_clock_set},
    {GB_UPDATE_BEGIN, WAY_TO_DEVICE, DELIVERY_ASSURED, 4, f_update_begin},
    {GB_UPDATE_CHUNK, WAY_TO_DEVICE, DELIVERY_ASSURED, 3, f_update_chunk},
    {GB_UPDATE_FINISH, WAY_TO_DEVICE, DELIVERY_ASSURED, 1, f_update_finish},
    {GB_UPDATE_CONFIRM, WAY_TO_DEVICE, DELIVERY_ASSURED, 1, f_update_confirm},
    {GB_UPDATE_ABORT, WAY_TO_DEVICE, DELIVERY_ASSURED, 1, f_update_abort},
};
/* END GENERATED */

static const uint8_t kind_size[] = {1, 2, 4, 8, 2, 8, 1, 1, 1, 2, 2, 32, 1, 1};

static const gb_row *find_row(uint8_t number) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].number == number) return &rows[i];
    return NULL;
}

/* ---- codec --------------------------------------------------------------------------------------------------- */

static void put_le(uint8_t *out, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++) out[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_le(const uint8_t *in, unsigned size) {
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++) value |= (uint64_t)in[i] << (8 * i);
    return value;
}

uint32_t gb_crc32(const uint8_t *data, size_t size) {
    static const uint32_t nibble[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
        0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C};
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < size; i++) {
        crc = nibble[(crc ^ data[i]) & 15u] ^ (crc >> 4);
        crc = nibble[(crc ^ (data[i] >> 4)) & 15u] ^ (crc >> 4);
    }
    return crc ^ 0xFFFFFFFFu;
}

size_t gb_encode_frame(const gb_frame *frame, uint8_t out[GB_MAX_WIRE]) {
    uint8_t body[GB_MAX_DECODED];
    size_t size = GB_HEADER + frame->size;
    body[0] = frame->number;
    body[1] = frame->flags;
    put_le(body + 2, frame->session, 2);
    put_le(body + 4, frame->seq, 4);
    memcpy(body + GB_HEADER, frame->payload, frame->size);
    put_le(body + size, gb_crc32(body, size), 4);
    size += 4;
    size_t at = 0;
    out[at++] = 0;
    size_t code_at = at++;
    uint8_t code = 1;
    for (size_t i = 0; i < size; i++) {
        if (body[i] == 0) {
            out[code_at] = code;
            code_at = at++;
            code = 1;
        } else {
            out[at++] = body[i];
            code++; /* a body has at most 254 bytes, so a group can fill up only at its end */
        }
    }
    out[code_at] = code;
    out[at++] = 0;
    return at;
}

static bool decode_piece(const uint8_t *piece, size_t size, gb_frame *frame) {
    uint8_t body[GB_MAX_ENCODED];
    size_t used = 0, at = 0;
    if (size <= GB_OVERHEAD) return false;
    while (at < size) {
        uint8_t code = piece[at++];
        size_t run = (size_t)code - 1;
        if (run > size - at) return false;
        memcpy(body + used, piece + at, run);
        used += run;
        at += run;
        if (code < 0xFF && at < size) body[used++] = 0;
    }
    if (used < GB_OVERHEAD || used > GB_MAX_DECODED) return false;
    if (gb_crc32(body, used - 4) != (uint32_t)get_le(body + used - 4, 4)) return false;
    frame->number = body[0];
    frame->flags = body[1];
    frame->session = (uint16_t)get_le(body + 2, 2);
    frame->seq = (uint32_t)get_le(body + 4, 4);
    frame->size = (uint8_t)(used - GB_OVERHEAD);
    memcpy(frame->payload, body + GB_HEADER, frame->size);
    return true;
}

bool gb_decoder_push(gb_decoder *decoder, uint8_t byte, gb_frame *frame) {
    if (byte != 0) {
        if (decoder->skipping) return false;
        if (decoder->used == GB_MAX_ENCODED) {
            decoder->corrupt++;
            decoder->skipping = true;
            decoder->used = 0;
            return false;
        }
        decoder->piece[decoder->used++] = byte;
        return false;
    }
    size_t size = decoder->used;
    bool skipped = decoder->skipping;
    decoder->used = 0;
    decoder->skipping = false;
    if (skipped || size == 0) return false;
    if (!decode_piece(decoder->piece, size, frame)) {
        decoder->corrupt++;
        return false;
    }
    decoder->good++;
    return true;
}

int gb_pack(const gb_message *message, uint8_t payload[GB_MAX_PAYLOAD]) {
    const gb_row *row = find_row(message->number);
    size_t at = 0;
    if (row == NULL) return -1;
    for (uint8_t i = 0; i < row->count; i++) {
        const gb_field *field = &row->fields[i];
        const uint8_t *from = (const uint8_t *)&message->u + field->offset;
        size_t size = kind_size[field->kind];
        if (at + size > GB_MAX_PAYLOAD) return -1;
        switch (field->kind) {
        case K_U16: case K_I16: case K_OPT_U16: case K_OPT_I16: {
            uint16_t value;
            memcpy(&value, from, sizeof value);
            put_le(payload + at, value, 2);
            break;
        }
        case K_U32: {
            uint32_t value;
            memcpy(&value, from, sizeof value);
            put_le(payload + at, value, 4);
            break;
        }
        case K_U64: case K_I64: {
            uint64_t value;
            memcpy(&value, from, sizeof value);
            put_le(payload + at, value, 8);
            break;
        }
        case K_VIEW: case K_SAMPLES: {
            gb_view view;
            memcpy(&view, from, sizeof view);
            if (at + 1 + view.size > GB_MAX_PAYLOAD) return -1;
            payload[at] = view.size;
            if (view.size) memcpy(payload + at + 1, view.data, view.size);
            size += view.size;
            break;
        }
        case K_BOOL:
            payload[at] = *from != 0;
            break;
        case K_PERCENT:
            if (*from > 100 && *from != GB_UNKNOWN_PERCENT) return -1;
            payload[at] = *from;
            break;
        case K_ENUM:
            if (*from > field->last) return -1;
            payload[at] = *from;
            break;
        default: /* K_U8, K_BYTES32 */
            memcpy(payload + at, from, size);
        }
        at += size;
    }
    return (int)at;
}

gb_result gb_unpack(uint8_t number, const uint8_t *payload, size_t size, gb_message *message) {
    const gb_row *row = find_row(number);
    size_t at = 0;
    if (row == NULL) return GB_UNKNOWN_NUMBER;
    memset(message, 0, sizeof *message);
    message->number = number;
    for (uint8_t i = 0; i < row->count; i++) {
        const gb_field *field = &row->fields[i];
        uint8_t *to = (uint8_t *)&message->u + field->offset;
        size_t width = kind_size[field->kind];
        if (at + width > size) return GB_MALFORMED;
        const uint8_t *from = payload + at;
        switch (field->kind) {
        case K_U16: case K_I16: case K_OPT_U16: case K_OPT_I16: {
            uint16_t value = (uint16_t)get_le(from, 2);
            memcpy(to, &value, sizeof value);
            break;
        }
        case K_U32: {
            uint32_t value = (uint32_t)get_le(from, 4);
            memcpy(to, &value, sizeof value);
            break;
        }
        case K_U64: case K_I64: {
            uint64_t value = get_le(from, 8);
            memcpy(to, &value, sizeof value);
            break;
        }
        case K_VIEW: case K_SAMPLES: {
            gb_view view = {from + 1, from[0]};
            if (at + 1 + view.size > size) return GB_MALFORMED;
            width += view.size;
            if (field->kind == K_SAMPLES) view.size = (uint8_t)(view.size - view.size % 12); /* whole samples only */
            memcpy(to, &view, sizeof view);
            break;
        }
        case K_BOOL:
            *to = *from != 0;
            break;
        case K_PERCENT:
            *to = *from <= 100 ? *from : (uint8_t)GB_UNKNOWN_PERCENT;
            break;
        case K_ENUM:
            *to = *from <= field->last ? *from : 0;
            break;
        default:
            memcpy(to, from, width);
        }
        at += width;
    }
    return GB_OK;
}

/* SHA-256, FIPS 180-4. */
static const uint32_t sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
    0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
    0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
    0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static uint32_t rotr(uint32_t x, unsigned n) { return (x >> n) | (x << (32 - n)); }

static void sha_block(gb_sha256 *sha) {
    uint32_t w[64], s[8];
    for (unsigned i = 0; i < 16; i++)
        w[i] = (uint32_t)sha->block[4 * i] << 24 | (uint32_t)sha->block[4 * i + 1] << 16 |
               (uint32_t)sha->block[4 * i + 2] << 8 | sha->block[4 * i + 3];
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotr(a, 7) ^ rotr(a, 18) ^ (a >> 3)) + w[i - 7] + (rotr(b, 17) ^ rotr(b, 19) ^ (b >> 10));
    }
    memcpy(s, sha->h, sizeof s);
    for (unsigned i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t t1 = s[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + sha_k[i] + w[i];
        uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (unsigned i = 0; i < 8; i++) sha->h[i] += s[i];
}

void gb_sha256_start(gb_sha256 *sha) {
    static const uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sha->h, h, sizeof h);
    sha->bytes = 0;
}

void gb_sha256_add(gb_sha256 *sha, const uint8_t *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        sha->block[sha->bytes++ % 64] = data[i];
        if (sha->bytes % 64 == 0) sha_block(sha);
    }
}

void gb_sha256_end(gb_sha256 *sha, uint8_t digest[32]) {
    uint64_t bits = sha->bytes * 8;
    uint8_t byte = 0x80;
    gb_sha256_add(sha, &byte, 1);
    byte = 0;
    while (sha->bytes % 64 != 56) gb_sha256_add(sha, &byte, 1);
    for (unsigned i = 0; i < 8; i++) {
        byte = (uint8_t)(bits >> (56 - 8 * i));
        gb_sha256_add(sha, &byte, 1);
    }
    for (unsigned i = 0; i < 32; i++) digest[i] = (uint8_t)(sha->h[i / 4] >> (24 - 8 * (i % 4)));
}

/* ---- sending ------------------------------------------------------------------------------------------------- */

#define KEEPALIVE_US 1000000u
#define HELLO_FIRST_US 250000u
#define HELLO_MOST_US 2000000u
#define HELLO_REFUSED_US 10000000u
#define WAIT_FIRST_US 200000u
#define WAIT_LEAST_US 30000u
#define WAIT_MOST_US 2000000u
#define CONFIRM_US 60000000u
#define REBOOT_GRACE_US 500000u

static int32_t ahead(uint32_t a, uint32_t b) { return (int32_t)(a - b); }

static uint32_t queued(const gb_device *d) { return d->keep->next_seq - d->keep->base_seq; }

static void transmit(gb_device *d, uint64_t now, uint8_t number, uint8_t flags, uint32_t seq, const uint8_t *payload,
                     uint8_t size) {
    gb_frame frame = {number, flags, (uint16_t)d->nonce, seq, size, {0}};
    uint8_t wire[GB_MAX_WIRE];
    if (size) memcpy(frame.payload, payload, size);
    d->sent_at = now;
    d->hooks.write(d->hooks.user, wire, gb_encode_frame(&frame, wire));
}

static void send_link(gb_device *d, uint64_t now, const gb_message *message) {
    uint8_t payload[GB_MAX_PAYLOAD];
    int size = gb_pack(message, payload);
    if (size >= 0) transmit(d, now, message->number, 0, 0, payload, (uint8_t)size);
}

static void send_hello(gb_device *d, uint64_t now, bool reply) {
    gb_message m = {GB_HELLO, {{0}}};
    size_t length = strlen(d->name);
    m.u.hello.version_min = GB_VERSION_MIN;
    m.u.hello.version_max = GB_VERSION;
    m.u.hello.role = GB_ROLE_DEVICE;
    m.u.hello.reply = reply;
    m.u.hello.nonce = d->nonce;
    m.u.hello.echo = d->peer_nonce;
    m.u.hello.stream = d->keep->stream;
    m.u.hello.base = d->keep->base_seq;
    m.u.hello.peer_stream = d->keep->peer_stream;
    m.u.hello.committed = d->keep->peer_committed;
    m.u.hello.capabilities = d->capabilities;
    m.u.hello.keepalive_ms = KEEPALIVE_US / 1000;
    m.u.hello.window = GB_WINDOW;
    m.u.hello.name.data = (const uint8_t *)d->name;
    m.u.hello.name.size = (uint8_t)(length < 64 ? length : 64);
    send_link(d, now, &m);
}

static void send_ack(gb_device *d, uint64_t now) {
    gb_message m = {GB_ACK, {{0}}};
    m.u.ack.committed = d->keep->peer_committed;
    for (unsigned i = 0; i < GB_WINDOW; i++)
        if (d->early_used[i]) m.u.ack.seen |= 1u << (ahead(d->early[i].seq, d->keep->peer_committed) - 1);
    d->ack_due = false;
    send_link(d, now, &m);
}

static void send_entry(gb_device *d, uint64_t now, uint32_t seq) {
    const gb_queued *entry = &d->keep->queue[seq % GB_QUEUE];
    gb_flight *flight = &d->flight[seq % GB_QUEUE];
    uint8_t flags = GB_FLAG_ASSURED;
    if (flight->tries) {
        flags |= GB_FLAG_RESENT;
        d->stats.resent++;
    }
    if (flight->tries < 255) flight->tries++;
    flight->sent_us = now;
    transmit(d, now, entry->number, flags, seq, entry->payload, entry->size);
}

/* When an entry is sent again. Of those the host has seen only the oldest is, to ask whether it is committed. */
static uint64_t due_at(const gb_device *d, uint32_t seq, uint64_t wait) {
    const gb_flight *flight = &d->flight[seq % GB_QUEUE];
    if (!flight->seen) return flight->sent_us + wait;
    if (seq != d->keep->base_seq) return GB_NEVER;
    return (flight->sent_us > d->progress_at ? flight->sent_us : d->progress_at) + wait;
}

/* Send what has waited too long, then what is new, at most one window ahead of the host's commits. */
static void pump(gb_device *d, uint64_t now) {
    bool expired = false;
    uint64_t wait = d->wait;
    if (!d->up) return;
    for (uint32_t seq = d->keep->base_seq; seq != d->unsent; seq++) {
        if (now < due_at(d, seq, wait)) continue;
        expired = true;
        send_entry(d, now, seq);
    }
    if (expired) d->wait = 2 * d->wait < WAIT_MOST_US ? 2 * d->wait : WAIT_MOST_US;
    while (d->unsent != d->keep->next_seq && d->unsent - d->keep->base_seq < d->window) send_entry(d, now, d->unsent++);
}

static void measure(gb_device *d, uint64_t rtt) {
    if (d->srtt == 0) {
        d->srtt = rtt;
        d->deviation = rtt / 2;
    } else {
        uint64_t off = d->srtt > rtt ? d->srtt - rtt : rtt - d->srtt;
        d->deviation = (3 * d->deviation + off) / 4;
        d->srtt = (7 * d->srtt + rtt) / 8;
    }
    d->wait = d->srtt + 4 * d->deviation;
    if (d->wait < WAIT_LEAST_US) d->wait = WAIT_LEAST_US;
    if (d->wait > WAIT_MOST_US) d->wait = WAIT_MOST_US;
}

static bool acceptable(const gb_device *d, uint32_t committed) {
    return ahead(committed, d->keep->next_seq) < 0 && ahead(committed, d->keep->base_seq) >= -0x10000;
}

static void acknowledge(gb_device *d, uint64_t now, uint32_t committed, uint32_t seen) {
    while (queued(d) && ahead(d->keep->base_seq, committed) <= 0) {
        gb_flight *flight = &d->flight[d->keep->base_seq % GB_QUEUE];
        if (flight->tries == 1 && !flight->seen) measure(d, now - flight->sent_us);
        memset(flight, 0, sizeof *flight);
        d->progress_at = now;
        d->keep->base_seq = d->keep->base_seq + 1;
    }
    if (ahead(d->keep->base_seq, d->unsent) > 0) d->unsent = d->keep->base_seq;
    uint32_t newest = 0;
    bool any = false;
    for (unsigned bit = 32; bit-- > 0;) {
        uint32_t seq = committed + 1 + bit;
        if (!(seen >> bit & 1u) || ahead(seq, d->keep->base_seq) < 0 || ahead(seq, d->unsent) >= 0) continue;
        gb_flight *flight = &d->flight[seq % GB_QUEUE];
        if (flight->tries == 1 && !flight->seen) measure(d, now - flight->sent_us);
        flight->seen = true;
        if (!any) newest = seq;
        any = true;
    }
    for (uint32_t seq = d->keep->base_seq; any && seq != newest; seq++) {
        gb_flight *flight = &d->flight[seq % GB_QUEUE];
        if (!flight->seen && (flight->tries == 1 || now - flight->sent_us > d->srtt)) send_entry(d, now, seq);
    }
}

bool gb_send_raw(gb_device *d, uint64_t now, uint8_t number, const uint8_t *payload, uint8_t size) {
    const gb_row *row = find_row(number);
    if (size > GB_MAX_PAYLOAD || (row && (row->delivery == DELIVERY_LINK || row->way == WAY_TO_DEVICE))) return false;
    if (row && row->delivery == DELIVERY_DATAGRAM) {
        if (d->up) transmit(d, now, number, 0, ++d->datagram_out, payload, size);
        return d->up;
    }
    if (queued(d) >= GB_QUEUE) {
        d->stats.dropped++;
        return false;
    }
    gb_queued *entry = &d->keep->queue[d->keep->next_seq % GB_QUEUE];
    entry->seq = d->keep->next_seq;
    entry->number = number;
    entry->size = size;
    if (size) memcpy(entry->payload, payload, size);
    memset(&d->flight[entry->seq % GB_QUEUE], 0, sizeof d->flight[0]);
    d->keep->next_seq = entry->seq + 1;
    pump(d, now);
    return true;
}

bool gb_send(gb_device *d, uint64_t now, const gb_message *message) {
    uint8_t payload[GB_MAX_PAYLOAD];
    int size = gb_pack(message, payload);
    return size >= 0 && gb_send_raw(d, now, message->number, payload, (uint8_t)size);
}

/* ---- update -------------------------------------------------------------------------------------------------- */

uint8_t gb_boot_select(gb_boot_record *record, uint8_t *state) {
    if (record->trial && !record->tried) {
        record->tried = 1;
        *state = GB_SLOTSTATE_TESTING;
        return (uint8_t)(1 - record->active);
    }
    if (record->trial) {
        record->trial = record->tried = 0;
        record->reverted = 1;
    }
    *state = record->reverted ? GB_SLOTSTATE_REVERTED : GB_SLOTSTATE_CONFIRMED;
    return record->active;
}

static void send_status(gb_device *d, uint64_t now, uint32_t update, uint8_t state, uint8_t reason, uint32_t offset) {
    gb_message m = {GB_UPDATE_STATUS, {{0}}};
    m.u.update_status.update = update;
    m.u.update_status.state = state;
    m.u.update_status.reason = reason;
    m.u.update_status.offset = offset;
    gb_send(d, now, &m);
}

static void here(gb_device *d, uint64_t now, uint8_t state, uint8_t reason) {
    send_status(d, now, d->boot->update, state, reason, d->boot->update ? d->boot->staged : 0);
}

static uint8_t unfit(const gb_device *d) {
    if (d->percent == GB_UNKNOWN_PERCENT || d->percent < 30) return GB_UPDATEREASON_LOW_BATTERY;
    if (d->temp_dc != GB_UNKNOWN_I16 && d->temp_dc > 450) return GB_UPDATEREASON_HOT;
    return GB_UPDATEREASON_NONE;
}

static void update_begin(gb_device *d, uint64_t now, const gb_update_begin *m) {
    gb_boot_record *b = d->boot;
    uint8_t reason = unfit(d);
    if (reason == GB_UPDATEREASON_NONE && (m->size > GB_SLOT_BYTES || m->size == 0)) reason = GB_UPDATEREASON_TOO_LARGE;
    if (reason == GB_UPDATEREASON_NONE && (d->slot_state == GB_SLOTSTATE_TESTING || m->update == 0))
        reason = GB_UPDATEREASON_NOT_STARTED;
    if (reason != GB_UPDATEREASON_NONE) {
        send_status(d, now, m->update, GB_UPDATESTATE_REFUSED, reason, 0);
        return;
    }
    if (b->update == 0 || b->size != m->size || memcmp(b->sha256, m->sha256, 32) != 0) b->staged = 0;
    memcpy(b->sha256, m->sha256, 32);
    b->size = m->size;
    b->update = m->update;
    size_t length = m->version.size < 32 ? m->version.size : 32;
    memset(b->version, 0, sizeof b->version);
    if (length) memcpy(b->version, m->version.data, length);
    b->reverted = 0;
    d->slot_state = GB_SLOTSTATE_CONFIRMED;
    d->hooks.save_boot(d->hooks.user, b);
    here(d, now, GB_UPDATESTATE_RECEIVING, GB_UPDATEREASON_NONE);
}

static void update_chunk(gb_device *d, uint64_t now, const gb_update_chunk *m) {
    gb_boot_record *b = d->boot;
    uint64_t end = (uint64_t)m->offset + m->data.size;
    if (m->offset > b->staged || end > b->size) {
        here(d, now, GB_UPDATESTATE_RECEIVING, GB_UPDATEREASON_WRONG_OFFSET);
        return;
    }
    if (end <= b->staged) return;
    uint32_t skip = b->staged - m->offset;
    if (!d->hooks.flash_write(d->hooks.user, (uint8_t)(1 - b->active), b->staged, m->data.data + skip,
                              m->data.size - skip)) {
        here(d, now, GB_UPDATESTATE_REFUSED, GB_UPDATEREASON_FLASH);
        return;
    }
    b->staged = (uint32_t)end;
    d->hooks.save_boot(d->hooks.user, b);
}

static void update_finish(gb_device *d, uint64_t now) {
    gb_boot_record *b = d->boot;
    uint8_t reason = unfit(d), digest[32], piece[64];
    uint8_t slot = (uint8_t)(1 - b->active);
    gb_sha256 sha;
    if (reason != GB_UPDATEREASON_NONE) {
        here(d, now, GB_UPDATESTATE_REFUSED, reason);
        return;
    }
    if (b->staged != b->size) {
        here(d, now, GB_UPDATESTATE_RECEIVING, GB_UPDATEREASON_WRONG_OFFSET);
        return;
    }
    gb_sha256_start(&sha);
    for (uint32_t at = 0; at < b->size;) { /* read back what the flash really holds */
        uint32_t size = b->size - at < sizeof piece ? b->size - at : (uint32_t)sizeof piece;
        if (!d->hooks.flash_read(d->hooks.user, slot, at, piece, size)) {
            here(d, now, GB_UPDATESTATE_REFUSED, GB_UPDATEREASON_FLASH);
            return;
        }
        gb_sha256_add(&sha, piece, size);
        at += size;
    }
    gb_sha256_end(&sha, digest);
    if (memcmp(digest, b->sha256, 32) != 0) {
        here(d, now, GB_UPDATESTATE_REFUSED, GB_UPDATEREASON_WRONG_HASH);
        b->update = 0;
        b->staged = 0;
        d->hooks.save_boot(d->hooks.user, b);
        return;
    }
    memcpy(b->versions[slot], b->version, sizeof b->version);
    b->tried = 0;
    b->trial = 1;
    d->hooks.save_boot(d->hooks.user, b);
    d->restarting = true;
    d->restart_at = now + REBOOT_GRACE_US;
    here(d, now, GB_UPDATESTATE_REBOOTING, GB_UPDATEREASON_NONE);
}

static void update_confirm(gb_device *d, uint64_t now, uint32_t update) {
    gb_boot_record *b = d->boot;
    if (d->slot_state == GB_SLOTSTATE_TESTING && update == b->update) {
        b->active = d->slot;
        b->trial = b->tried = 0;
        b->update = 0;
        d->hooks.save_boot(d->hooks.user, b);
        d->slot_state = GB_SLOTSTATE_CONFIRMED;
    }
    bool done = d->slot_state == GB_SLOTSTATE_CONFIRMED;
    send_status(d, now, update, done ? GB_UPDATESTATE_CONFIRMED : GB_UPDATESTATE_REFUSED,
                done ? GB_UPDATEREASON_NONE : GB_UPDATEREASON_NOT_STARTED, 0);
}

/* True when the message belonged to the update. */
static bool update_handle(gb_device *d, uint64_t now, const gb_message *m) {
    uint32_t update;
    switch (m->number) {
    case GB_UPDATE_BEGIN:
        update_begin(d, now, &m->u.update_begin);
        return true;
    case GB_UPDATE_CONFIRM:
        update_confirm(d, now, m->u.update_confirm.update);
        return true;
    case GB_UPDATE_CHUNK: update = m->u.update_chunk.update; break;
    case GB_UPDATE_FINISH: update = m->u.update_finish.update; break;
    case GB_UPDATE_ABORT: update = m->u.update_abort.update; break;
    default: return false;
    }
    if (update == 0 || update != d->boot->update || d->slot_state == GB_SLOTSTATE_TESTING) {
        send_status(d, now, update, GB_UPDATESTATE_REFUSED, GB_UPDATEREASON_NOT_STARTED, 0);
    } else if (m->number == GB_UPDATE_CHUNK) {
        update_chunk(d, now, &m->u.update_chunk);
    } else if (m->number == GB_UPDATE_FINISH) {
        update_finish(d, now);
    } else {
        here(d, now, GB_UPDATESTATE_IDLE, GB_UPDATEREASON_ABORTED);
        d->boot->update = 0;
        d->hooks.save_boot(d->hooks.user, d->boot);
    }
    return true;
}

/* ---- receiving ----------------------------------------------------------------------------------------------- */

static void forget_early(gb_device *d) { memset(d->early_used, 0, sizeof d->early_used); }

/* Back to greeting, with a new nonce when the old one may still be on the line. */
static void restart_link(gb_device *d, uint64_t now) {
    bool was_up = d->up;
    if (d->up || d->peer_nonce) d->nonce = d->nonce == UINT32_MAX ? 1 : d->nonce + 1;
    d->up = false;
    d->peer_nonce = 0;
    d->hello_wait = HELLO_FIRST_US;
    d->hello_at = now + (d->refused ? HELLO_REFUSED_US : d->hello_wait);
    if (was_up) d->hooks.lost(d->hooks.user);
    if (d->line) send_hello(d, now, true);
}

static void come_up(gb_device *d, uint64_t now, const gb_hello *hello) {
    gb_retained *keep = d->keep;
    d->up = true;
    d->stats.handshakes++;
    if (hello->stream != keep->peer_stream) {
        forget_early(d);
        keep->peer_stream = 0; /* invalid until both words are right */
        keep->peer_committed = hello->base - 1;
        keep->peer_stream = hello->stream;
    } else if (ahead(hello->base, keep->peer_committed) > 1) {
        for (unsigned i = 0; i < GB_WINDOW; i++)
            if (d->early_used[i] && ahead(d->early[i].seq, hello->base) < 0) d->early_used[i] = false;
        keep->peer_committed = hello->base - 1;
    }
    if (hello->peer_stream == keep->stream && acceptable(d, hello->committed)) acknowledge(d, now, hello->committed, 0);
    d->window = hello->window < 1 ? 1 : hello->window;
    if (d->window > GB_WINDOW) d->window = GB_WINDOW;
    d->unsent = keep->base_seq;
    memset(d->flight, 0, sizeof d->flight);
    d->srtt = d->deviation = 0;
    d->wait = WAIT_FIRST_US;
}

static void introduce(gb_device *d, uint64_t now) {
    gb_message m = {GB_FIRMWARE, {{0}}};
    const char *version = d->boot->versions[d->slot];
    m.u.firmware.at_us = now;
    m.u.firmware.state = d->slot_state;
    m.u.firmware.version.data = (const uint8_t *)version;
    m.u.firmware.version.size = (uint8_t)strlen(version);
    m.u.firmware.board.data = (const uint8_t *)d->name;
    m.u.firmware.board.size = (uint8_t)(strlen(d->name) < 64 ? strlen(d->name) : 64);
    gb_send(d, now, &m);
    if (d->boot->update || d->boot->reverted) {
        uint8_t state = d->slot_state == GB_SLOTSTATE_TESTING    ? GB_UPDATESTATE_TESTING
                        : d->slot_state == GB_SLOTSTATE_REVERTED ? GB_UPDATESTATE_REVERTED
                        : d->boot->update                        ? GB_UPDATESTATE_RECEIVING
                                                                 : GB_UPDATESTATE_IDLE;
        here(d, now, state, GB_UPDATEREASON_NONE);
    }
    d->hooks.greet(d->hooks.user);
}

static void on_hello(gb_device *d, uint64_t now, const gb_hello *hello) {
    uint8_t version = hello->version_max < GB_VERSION ? hello->version_max : GB_VERSION;
    uint8_t least = hello->version_min > GB_VERSION_MIN ? hello->version_min : GB_VERSION_MIN;
    bool was_up = d->up;
    if (version < least) {
        if (!d->refused) {
            d->refused = true;
            d->up = false;
            d->peer_nonce = 0;
            d->hello_at = now;
            d->hooks.lost(d->hooks.user);
        }
        return;
    }
    d->refused = false;
    if (d->peer_nonce != hello->nonce) {
        if (d->up) {
            d->up = was_up = false;
            d->hooks.lost(d->hooks.user);
        }
        d->datagram_known = false;
    }
    d->heard_at = now;
    d->peer_nonce = hello->nonce;
    d->peer_keepalive_ms = hello->keepalive_ms;
    if (hello->echo == d->nonce && !was_up) come_up(d, now, hello);
    if (hello->reply) send_hello(d, now, !d->up);
    if (d->up && !was_up) {
        pump(d, now);
        introduce(d, now);
    }
}

/* Carry out one frame that is next in order (or a datagram); what cannot be read is counted and passed over. */
static void obey(gb_device *d, uint64_t now, const gb_frame *frame) {
    gb_message message;
    const gb_row *row = find_row(frame->number);
    gb_result result = gb_unpack(frame->number, frame->payload, frame->size, &message);
    if (result == GB_UNKNOWN_NUMBER) {
        d->stats.unknown++;
    } else if (result == GB_MALFORMED) {
        d->stats.malformed++;
    } else if (row->way == WAY_TO_HOST || row->delivery == DELIVERY_LINK) {
        d->stats.misdirected++;
    } else if (!update_handle(d, now, &message)) {
        d->hooks.command(d->hooks.user, &message);
    }
}

static void on_assured(gb_device *d, uint64_t now, const gb_frame *frame) {
    gb_retained *keep = d->keep;
    int32_t step = ahead(frame->seq, keep->peer_committed);
    d->ack_due = true;
    if (step <= 0) {
        d->stats.duplicates++;
    } else if (step > 1) {
        unsigned at = frame->seq % GB_WINDOW;
        if (step > (int32_t)GB_WINDOW) {
            d->stats.out_of_window++;
        } else if (d->early_used[at] && d->early[at].seq == frame->seq) {
            d->stats.duplicates++;
        } else {
            d->early[at] = *frame;
            d->early_used[at] = true;
        }
    } else {
        const gb_frame *next = frame;
        while (next != NULL) {
            unsigned at = next->seq % GB_WINDOW;
            d->command_seq = next->seq;
            obey(d, now, next);
            d->command_seq = 0;
            d->early_used[at] = false;
            keep->peer_committed = next->seq; /* one store: carried out and committed */
            at = (keep->peer_committed + 1) % GB_WINDOW;
            next = d->early_used[at] && d->early[at].seq == keep->peer_committed + 1 ? &d->early[at] : NULL;
        }
    }
}

static void on_link(gb_device *d, uint64_t now, const gb_frame *frame) {
    gb_message m, answer = {GB_TIME_PONG, {{0}}};
    if (gb_unpack(frame->number, frame->payload, frame->size, &m) != GB_OK) {
        d->stats.malformed++;
        return;
    }
    switch (m.number) {
    case GB_ACK:
        if (!acceptable(d, m.u.ack.committed)) {
            d->stats.malformed++;
            return;
        }
        acknowledge(d, now, m.u.ack.committed, m.u.ack.seen);
        pump(d, now);
        break;
    case GB_TIME_PING:
        answer.u.time_pong.ping_us = m.u.time_ping.sent_us;
        answer.u.time_pong.received_us = now;
        answer.u.time_pong.sent_us = now;
        send_link(d, now, &answer);
        break;
    case GB_BYE:
        restart_link(d, now);
        break;
    default: /* KeepAlive: having heard it is all; TimePong: a device does not ask */
        break;
    }
}

static void on_frame(gb_device *d, uint64_t now, const gb_frame *frame) {
    gb_message m;
    const gb_row *row = find_row(frame->number);
    if (frame->number == GB_HELLO) {
        if (gb_unpack(frame->number, frame->payload, frame->size, &m) == GB_OK && m.u.hello.nonce && m.u.hello.stream &&
            m.u.hello.role != GB_ROLE_DEVICE)
            on_hello(d, now, &m.u.hello);
        else
            d->stats.malformed++;
        return;
    }
    if (!d->up || frame->session != (uint16_t)d->peer_nonce) {
        d->stats.strays++;
        if (!d->replied || now - d->replied_at >= 100000) {
            d->replied = true;
            d->replied_at = now;
            send_hello(d, now, true);
        }
        return;
    }
    d->heard_at = now;
    if (frame->flags & GB_FLAG_ASSURED) {
        on_assured(d, now, frame);
    } else if (row && row->delivery == DELIVERY_LINK) {
        on_link(d, now, frame);
    } else if (d->datagram_known && ahead(frame->seq, d->datagram_in) <= 0) {
        d->stats.duplicates++;
    } else {
        d->datagram_known = true;
        d->datagram_in = frame->seq;
        obey(d, now, frame);
    }
}

/* ---- the board's calls --------------------------------------------------------------------------------------- */

void gb_init(gb_device *d, const gb_hooks *hooks, gb_retained *keep, gb_boot_record *boot, uint8_t slot, uint8_t state,
             uint32_t nonce, uint32_t capabilities, const char *name, uint8_t reason) {
    gb_message m = {GB_WAKE, {{0}}};
    memset(d, 0, sizeof *d);
    d->hooks = *hooks;
    d->keep = keep;
    d->boot = boot;
    d->slot = slot;
    d->slot_state = state;
    d->nonce = nonce ? nonce : 1;
    d->capabilities = capabilities;
    d->name = name;
    d->percent = GB_UNKNOWN_PERCENT;
    d->temp_dc = GB_UNKNOWN_I16;
    d->wait = WAIT_FIRST_US;
    if (keep->next_seq == 0 && keep->base_seq == 0) keep->base_seq = keep->next_seq = 1;
    d->unsent = keep->base_seq;
    m.u.wake.reason = reason;
    gb_send(d, 0, &m);
}

static void maybe_reboot(gb_device *d, uint64_t now) {
    /* The answer that announces a reboot should arrive first; a host that does not listen cannot hold it up. */
    if (d->restarting && (now >= d->restart_at || queued(d) == 0)) {
        gb_leave(d, now, GB_BYEREASON_REBOOT);
        d->hooks.reboot(d->hooks.user);
    }
}

void gb_opened(gb_device *d, uint64_t now) {
    d->line = true;
    memset(&d->decoder, 0, sizeof d->decoder);
    restart_link(d, now);
}

void gb_closed(gb_device *d, uint64_t now) {
    d->line = false;
    restart_link(d, now);
}

void gb_feed(gb_device *d, uint64_t now, const uint8_t *data, size_t size) {
    for (size_t i = 0; i < size && d->line; i++)
        if (gb_decoder_push(&d->decoder, data[i], &d->frame)) on_frame(d, now, &d->frame);
    if (d->ack_due && d->up) send_ack(d, now);
    maybe_reboot(d, now);
}

static uint64_t silence_us(const gb_device *d) { return (uint64_t)d->peer_keepalive_ms * 3500u; }

void gb_tick(gb_device *d, uint64_t now) {
    if (d->slot_state == GB_SLOTSTATE_TESTING && now >= CONFIRM_US && !d->restarting) {
        d->restarting = true;
        d->restart_at = now;
    }
    if (d->line) {
        if (d->up && now - d->heard_at >= silence_us(d)) restart_link(d, now);
        if (!d->up && now >= d->hello_at) {
            send_hello(d, now, true);
            d->hello_wait = 2 * d->hello_wait < HELLO_MOST_US ? 2 * d->hello_wait : HELLO_MOST_US;
            d->hello_at = now + (d->refused ? HELLO_REFUSED_US : d->hello_wait);
        }
        if (d->up) {
            pump(d, now);
            if (now - d->sent_at >= KEEPALIVE_US) {
                gb_message m = {GB_KEEP_ALIVE, {{0}}};
                m.u.keep_alive.uptime_ms = (uint32_t)(now / 1000);
                send_link(d, now, &m);
            }
        }
    }
    maybe_reboot(d, now);
}

void gb_leave(gb_device *d, uint64_t now, uint8_t reason) {
    gb_message m = {GB_BYE, {{0}}};
    if (!d->up) return;
    m.u.bye.reason = reason;
    send_link(d, now, &m);
    d->up = d->line = false;
    d->hooks.lost(d->hooks.user);
}

static void sooner(uint64_t *least, uint64_t at) {
    if (at < *least) *least = at;
}

uint64_t gb_deadline(const gb_device *d) {
    uint64_t least = GB_NEVER;
    if (d->slot_state == GB_SLOTSTATE_TESTING && !d->restarting) sooner(&least, CONFIRM_US);
    if (d->restarting) sooner(&least, d->restart_at);
    if (!d->line) return least;
    if (!d->up) {
        sooner(&least, d->hello_at);
        return least;
    }
    sooner(&least, d->sent_at + KEEPALIVE_US);
    sooner(&least, d->heard_at + silence_us(d));
    for (uint32_t seq = d->keep->base_seq; seq != d->unsent; seq++) sooner(&least, due_at(d, seq, d->wait));
    return least;
}
