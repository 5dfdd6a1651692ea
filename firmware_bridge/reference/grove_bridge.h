/* grove_bridge.h - the device's side of the glasses' link, for any microcontroller with a C99 compiler.
 *
 * No allocation, no clock, no operating system: the caller passes microseconds since boot and bytes, and is called back.
 * Everything between the GENERATED marks comes from firmware_bridge/protocol.py by tools/gen_firmware_doc.py.
 * docs/firmware.md explains the wire; "How to port" there says which hooks a board must fill in.
 */
#ifndef GROVE_BRIDGE_H
#define GROVE_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GB_MAX_PAYLOAD 242u
#define GB_HEADER 8u
#define GB_OVERHEAD 12u
#define GB_MAX_DECODED (GB_MAX_PAYLOAD + GB_OVERHEAD)
#define GB_MAX_ENCODED (GB_MAX_DECODED + 1u)
#define GB_MAX_WIRE (GB_MAX_ENCODED + 2u)

#define GB_FLAG_ASSURED 0x01u
#define GB_FLAG_RESENT 0x02u

#ifndef GB_WINDOW /* frames accepted ahead of order; RAM: 250 bytes each */
#define GB_WINDOW 16u
#endif
#ifndef GB_QUEUE /* own messages kept until the host committed them; RAM: 256 bytes each */
#define GB_QUEUE 32u
#endif
#if (GB_WINDOW & (GB_WINDOW - 1u)) || GB_WINDOW > 32u || (GB_QUEUE & (GB_QUEUE - 1u)) || GB_QUEUE < GB_WINDOW
#error "GB_WINDOW and GB_QUEUE are powers of two, GB_WINDOW at most 32 and not above GB_QUEUE"
#endif
#ifndef GB_SLOT_BYTES
#define GB_SLOT_BYTES (1u << 20)
#endif

#define GB_UNKNOWN_PERCENT 0xFFu
#define GB_UNKNOWN_U16 0xFFFFu
#define GB_UNKNOWN_I16 INT16_MIN
#define GB_NEVER UINT64_MAX

/* Bytes of a text, blob or list of samples; they live in the frame, not in the message. */
typedef struct {
    const uint8_t *data;
    uint8_t size;
} gb_view;

/* BEGIN GENERATED */
#define GB_VERSION 1u
#define GB_VERSION_MIN 1u

enum {
    GB_HELLO = 0x01,
    GB_ACK = 0x02,
    GB_KEEP_ALIVE = 0x03,
    GB_TIME_PING = 0x04,
    GB_TIME_PONG = 0x05,
    GB_BYE = 0x06,
    GB_BATTERY = 0x10,
    GB_WORN = 0x11,
    GB_GESTURE = 0x12,
    GB_IMU_SUMMARY = 0x13,
    GB_IMU_RAW = 0x14,
    GB_LIGHT = 0x15,
    GB_MUTE = 0x16,
    GB_LED_STATE = 0x17,
    GB_CAMERA_STATE = 0x18,
    GB_WAKE = 0x19,
    GB_SLEEP = 0x1A,
    GB_LOG = 0x1B,
    GB_FAULT = 0x1C,
    GB_FIRMWARE = 0x1D,
    GB_CLOCK_REPORT = 0x1E,
    GB_UPDATE_STATUS = 0x20,
    GB_SET_LED = 0x40,
    GB_HAPTIC = 0x41,
    GB_TONE = 0x42,
    GB_DISPLAY = 0x43,
    GB_CAMERA_POWER = 0x44,
    GB_SLEEP_REQUEST = 0x45,
    GB_IMU_STREAM = 0x46,
    GB_CLOCK_SET = 0x47,
    GB_UPDATE_BEGIN = 0x50,
    GB_UPDATE_CHUNK = 0x51,
    GB_UPDATE_FINISH = 0x52,
    GB_UPDATE_CONFIRM = 0x53,
    GB_UPDATE_ABORT = 0x54,
};

enum { GB_ROLE_UNKNOWN = 0, GB_ROLE_HOST = 1, GB_ROLE_DEVICE = 2 };
enum { GB_BYEREASON_UNKNOWN = 0, GB_BYEREASON_SHUTDOWN = 1, GB_BYEREASON_SLEEP = 2, GB_BYEREASON_REBOOT = 3, GB_BYEREASON_VERSION = 4 };
enum { GB_CHARGING_UNKNOWN = 0, GB_CHARGING_DISCHARGING = 1, GB_CHARGING_CHARGING = 2, GB_CHARGING_FULL = 3, GB_CHARGING_FAULT = 4 };
enum { GB_HEALTH_UNKNOWN = 0, GB_HEALTH_GOOD = 1, GB_HEALTH_AGED = 2, GB_HEALTH_FAILING = 3, GB_HEALTH_OVERHEAT = 4, GB_HEALTH_COLD = 5 };
enum { GB_CONTROL_UNKNOWN = 0, GB_CONTROL_TOUCH = 1, GB_CONTROL_BUTTON = 2, GB_CONTROL_CAMERA_BUTTON = 3 };
enum { GB_GESTUREKIND_UNKNOWN = 0, GB_GESTUREKIND_TAP = 1, GB_GESTUREKIND_DOUBLE_TAP = 2, GB_GESTUREKIND_LONG_PRESS = 3, GB_GESTUREKIND_SWIPE_FORWARD = 4, GB_GESTUREKIND_SWIPE_BACK = 5 };
enum { GB_ACTIVITY_UNKNOWN = 0, GB_ACTIVITY_STILL = 1, GB_ACTIVITY_WALKING = 2, GB_ACTIVITY_RUNNING = 3, GB_ACTIVITY_FALL_SUSPECTED = 4 };
enum { GB_LED_UNKNOWN = 0, GB_LED_RECORDING = 1, GB_LED_STATUS = 2 };
enum { GB_LEDMODE_UNKNOWN = 0, GB_LEDMODE_OFF = 1, GB_LEDMODE_ON = 2, GB_LEDMODE_BLINK = 3, GB_LEDMODE_PULSE = 4 };
enum { GB_REASON_UNKNOWN = 0, GB_REASON_POWER_ON = 1, GB_REASON_BUTTON = 2, GB_REASON_WORN = 3, GB_REASON_UNWORN = 4, GB_REASON_CHARGER = 5, GB_REASON_TIMER = 6, GB_REASON_HOST = 7, GB_REASON_WATCHDOG = 8, GB_REASON_CRASH = 9, GB_REASON_LOW_BATTERY = 10, GB_REASON_UPDATE = 11 };
enum { GB_LEVEL_UNKNOWN = 0, GB_LEVEL_DEBUG = 1, GB_LEVEL_INFO = 2, GB_LEVEL_WARNING = 3, GB_LEVEL_ERROR = 4 };
enum { GB_FAULTCODE_UNKNOWN = 0, GB_FAULTCODE_LED = 1, GB_FAULTCODE_CAMERA = 2, GB_FAULTCODE_IMU = 3, GB_FAULTCODE_BATTERY_GAUGE = 4, GB_FAULTCODE_OVERHEAT = 5, GB_FAULTCODE_FLASH = 6, GB_FAULTCODE_WATCHDOG_RESET = 7 };
enum { GB_SLOTSTATE_UNKNOWN = 0, GB_SLOTSTATE_CONFIRMED = 1, GB_SLOTSTATE_TESTING = 2, GB_SLOTSTATE_REVERTED = 3 };
enum { GB_CLOCKSOURCE_UNKNOWN = 0, GB_CLOCKSOURCE_UNSET = 1, GB_CLOCKSOURCE_HOST = 2, GB_CLOCKSOURCE_RTC = 3 };
enum { GB_UPDATESTATE_UNKNOWN = 0, GB_UPDATESTATE_IDLE = 1, GB_UPDATESTATE_RECEIVING = 2, GB_UPDATESTATE_REFUSED = 3, GB_UPDATESTATE_REBOOTING = 4, GB_UPDATESTATE_TESTING = 5, GB_UPDATESTATE_CONFIRMED = 6, GB_UPDATESTATE_REVERTED = 7 };
enum { GB_UPDATEREASON_UNKNOWN = 0, GB_UPDATEREASON_NONE = 1, GB_UPDATEREASON_LOW_BATTERY = 2, GB_UPDATEREASON_HOT = 3, GB_UPDATEREASON_TOO_LARGE = 4, GB_UPDATEREASON_WRONG_HASH = 5, GB_UPDATEREASON_WRONG_OFFSET = 6, GB_UPDATEREASON_NOT_STARTED = 7, GB_UPDATEREASON_ABORTED = 8, GB_UPDATEREASON_FLASH = 9 };
enum { GB_PATTERN_UNKNOWN = 0, GB_PATTERN_TICK = 1, GB_PATTERN_DOUBLE = 2, GB_PATTERN_LONG = 3, GB_PATTERN_RISE = 4, GB_PATTERN_ALERT = 5 };

#define GB_CAN_BATTERY 0x0001u
#define GB_CAN_WEAR 0x0002u
#define GB_CAN_GESTURES 0x0004u
#define GB_CAN_IMU 0x0008u
#define GB_CAN_IMU_RAW 0x0010u
#define GB_CAN_LIGHT 0x0020u
#define GB_CAN_MUTE_SWITCH 0x0040u
#define GB_CAN_LED 0x0080u
#define GB_CAN_HAPTIC 0x0100u
#define GB_CAN_TONE 0x0200u
#define GB_CAN_DISPLAY 0x0400u
#define GB_CAN_CAMERA_POWER 0x0800u
#define GB_CAN_UPDATE 0x1000u
#define GB_CAN_CLOCK 0x2000u

typedef struct { /* Opens a session; both sides send it until each has seen its own nonce echoed. Its layout never changes. */
    uint8_t version_min; /* oldest protocol version understood */
    uint8_t version_max; /* newest protocol version understood */
    uint8_t role; /* who speaks */
    uint8_t reply; /* 1 asks the peer to answer with its Hello */
    uint32_t nonce; /* number of this handshake, never 0; its low 16 bits tag all later frames */
    uint32_t echo; /* the peer's nonce, 0 when not known yet */
    uint32_t stream; /* identity of the sender's queue of acknowledged messages, never 0; kept while it is kept */
    uint32_t base; /* sequence number of the oldest message still queued (the next one when none is) */
    uint32_t peer_stream; /* identity of the peer's queue last received from, 0 when none */
    uint32_t committed; /* last sequence number of that queue that was committed */
    uint32_t capabilities; /* bit set, see Capabilities */
    uint16_t keepalive_ms; /* the sender is never silent for longer; 3.5 times this silence is a lost link */
    uint8_t window; /* acknowledged messages it accepts ahead of its last commit, 1 to 32 */
    gb_view name; /* name of the product or program, at most 64 bytes */
} gb_hello;

typedef struct { /* Everything up to ``committed`` is stored for good; ``seen`` only says what need not be sent again yet. */
    uint32_t committed; /* last sequence number committed */
    uint32_t seen; /* bit i set: committed + 1 + i has arrived but is not committed */
} gb_ack;

typedef struct { /* Sent when nothing else was for ``keepalive_ms``. */
    uint32_t uptime_ms; /* ms since boot or start, wraps */
} gb_keep_alive;

typedef struct { /* Asks for the peer's clock. */
    uint64_t sent_us; /* sender's clock */
} gb_time_ping;

typedef struct { /* Answers a TimePing at once. */
    uint64_t ping_us; /* copied from the ping */
    uint64_t received_us; /* answerer's clock when the ping arrived */
    uint64_t sent_us; /* answerer's clock when this was sent */
} gb_time_pong;

typedef struct { /* The sender leaves; the link is down on purpose. */
    uint8_t reason; /* why */
} gb_bye;

typedef struct { /* State of the cell, sent on change of a percent and at least every 30 s. */
    uint64_t at_us; /* us since the device booted */
    uint8_t percent; /* 0 to 100, 255 unknown */
    uint8_t charging; /* charger */
    uint8_t health; /* cell */
    uint16_t mv; /* mV at the cell, 65535 unknown */
    int16_t ma; /* mA into the cell (negative: out of it), -32768 unknown */
    int16_t temp_dc; /* 0.1 degrees Celsius, -32768 unknown */
} gb_battery;

typedef struct { /* The glasses were put on or taken off. */
    uint64_t at_us; /* us since the device booted */
    uint8_t worn; /* 1 on the head */
} gb_worn;

typedef struct { /* A press or tap, already told apart by the device. */
    uint64_t at_us; /* us since the device booted */
    uint8_t control; /* where */
    uint8_t kind; /* what */
    uint16_t held_ms; /* ms the finger stayed, 0 for swipes */
} gb_gesture;

typedef struct { /* Motion over the last period, and what the device makes of it. */
    uint64_t at_us; /* us since the device booted */
    uint16_t period_ms; /* ms summarised */
    uint8_t activity; /* guess */
    int16_t mean_x_mg; /* mean acceleration, milli-g */
    int16_t mean_y_mg; /* mean acceleration, milli-g */
    int16_t mean_z_mg; /* mean acceleration, milli-g */
    uint16_t std_mg; /* standard deviation of the magnitude, milli-g */
    uint16_t peak_mg; /* largest magnitude, milli-g */
    uint16_t gyro_ddps; /* root mean square rate, 0.1 degrees per second */
    uint16_t steps; /* steps in the period */
} gb_imu_summary;

typedef struct { /* A burst of raw samples, asked for with ImuStream. */
    uint64_t at_us; /* us since the device booted, of the first sample */
    uint32_t period_us; /* us between samples */
    gb_view samples; /* at most 19 of 6 x i16: acceleration milli-g, rate 0.1 degrees/s */
} gb_imu_raw;

typedef struct { /* Ambient light. */
    uint64_t at_us; /* us since the device booted */
    uint32_t lux; /* lux */
} gb_light;

typedef struct { /* Position of the mute switch; survives reboots. */
    uint64_t at_us; /* us since the device booted */
    uint8_t muted; /* 1: nothing may be recorded */
} gb_mute;

typedef struct { /* What a light really does, sent after every SetLed and whenever it changes. */
    uint64_t at_us; /* us since the device booted */
    uint8_t led; /* which */
    uint8_t mode; /* what it does */
    uint8_t working; /* 0: the current through it shows that it does not shine */
} gb_led_state;

typedef struct { /* Whether the camera has power. */
    uint64_t at_us; /* us since the device booted */
    uint8_t powered; /* 1 powered */
    uint8_t working; /* 0 it failed to start */
} gb_camera_state;

typedef struct { /* The device woke or started. */
    uint64_t at_us; /* us since the device booted */
    uint8_t reason; /* why */
} gb_wake;

typedef struct { /* The device is about to sleep; the link ends. */
    uint64_t at_us; /* us since the device booted */
    uint8_t reason; /* why */
} gb_sleep;

typedef struct { /* A line of the device's log. */
    uint64_t at_us; /* us since the device booted */
    uint8_t level; /* weight */
    gb_view text; /* the line */
} gb_log;

typedef struct { /* Something on the device failed or recovered. */
    uint64_t at_us; /* us since the device booted */
    uint8_t fault; /* what */
    uint8_t active; /* 1 began, 0 over */
    uint32_t detail; /* number for the maker of the board */
} gb_fault;

typedef struct { /* What runs on the device; sent after every handshake. */
    uint64_t at_us; /* us since the device booted */
    uint8_t state; /* the running image */
    gb_view version; /* version of the running image */
    gb_view board; /* name of the board */
} gb_firmware;

typedef struct { /* The device's idea of the time of day, for a host that lost its own. */
    uint64_t at_us; /* us since the device booted */
    int64_t utc_us; /* us since 1970, UTC, at at_us */
    uint8_t source; /* where it has it from */
} gb_clock_report;

typedef struct { /* Where an update stands; answers every update message but the chunks. */
    uint32_t update; /* number of the update, 0 when none */
    uint8_t state; /* state */
    uint8_t reason; /* why */
    uint32_t offset; /* bytes safely in flash; the next chunk starts here */
} gb_update_status;

typedef struct { /* Drive a light. */
    uint8_t led; /* which */
    uint8_t mode; /* what it shall do */
    uint16_t period_ms; /* ms of one blink or pulse */
} gb_set_led;

typedef struct { /* Vibrate. */
    uint8_t pattern; /* pattern */
    uint8_t strength; /* 0 to 255 */
    uint8_t repeat; /* times, at least 1 */
} gb_haptic;

typedef struct { /* Beep. */
    uint16_t hz; /* Hz */
    uint16_t ms; /* ms */
    uint8_t volume; /* 0 to 255 */
} gb_tone;

typedef struct { /* Show text; an empty text clears. */
    uint16_t show_ms; /* ms to show, 0 until replaced */
    uint8_t line; /* line from the top, 0 the first */
    gb_view text; /* the text */
} gb_display;

typedef struct { /* Switch the camera's supply; answered by CameraState. */
    uint8_t on; /* 1 on */
} gb_camera_power;

typedef struct { /* Let the device sleep. */
    uint32_t wake_after_s; /* s until it wakes by itself, 0 never */
} gb_sleep_request;

typedef struct { /* Ask for a burst of ImuRaw. */
    uint16_t hz; /* samples per second, 0 stops */
    uint16_t ms; /* ms */
} gb_imu_stream;

typedef struct { /* Tell the device the time of day; sent after time synchronisation and when the host's clock jumps. */
    uint64_t device_us; /* the device's clock at utc_us */
    int64_t utc_us; /* us since 1970, UTC */
    int16_t offset_min; /* minutes of the wearer's local time ahead of UTC */
} gb_clock_set;

typedef struct { /* Start an update or continue it (same hash): refused under 30 % battery or above 45 degrees Celsius. */
    uint32_t update; /* number of the update, not 0 */
    uint32_t size; /* bytes of the image */
    uint8_t sha256[32]; /* SHA-256 of the image */
    gb_view version; /* version of the image, at most 32 bytes */
} gb_update_begin;

typedef struct { /* A piece of the image; in order, without gaps. */
    uint32_t update; /* number of the update */
    uint32_t offset; /* where it belongs */
    gb_view data; /* at most 192 bytes */
} gb_update_chunk;

typedef struct { /* All chunks are sent: check the hash and boot the image on trial. */
    uint32_t update; /* number of the update */
} gb_update_finish;

typedef struct { /* The trial image talks to the host: keep it. Without this within 60 s of its boot the old image returns. */
    uint32_t update; /* number of the update */
} gb_update_confirm;

typedef struct { /* Forget the update. */
    uint32_t update; /* number of the update */
} gb_update_abort;

#define GB_BODIES \
    gb_hello hello; \
    gb_ack ack; \
    gb_keep_alive keep_alive; \
    gb_time_ping time_ping; \
    gb_time_pong time_pong; \
    gb_bye bye; \
    gb_battery battery; \
    gb_worn worn; \
    gb_gesture gesture; \
    gb_imu_summary imu_summary; \
    gb_imu_raw imu_raw; \
    gb_light light; \
    gb_mute mute; \
    gb_led_state led_state; \
    gb_camera_state camera_state; \
    gb_wake wake; \
    gb_sleep sleep; \
    gb_log log; \
    gb_fault fault; \
    gb_firmware firmware; \
    gb_clock_report clock_report; \
    gb_update_status update_status; \
    gb_set_led set_led; \
    gb_haptic haptic; \
    gb_tone tone; \
    gb_display display; \
    gb_camera_power camera_power; \
    gb_sleep_request sleep_request; \
    gb_imu_stream imu_stream; \
    gb_clock_set clock_set; \
    gb_update_begin update_begin; \
    gb_update_chunk update_chunk; \
    gb_update_finish update_finish; \
    gb_update_confirm update_confirm; \
    gb_update_abort update_abort;
/* END GENERATED */

typedef struct {
    uint8_t number;
    union {
        GB_BODIES
    } u;
} gb_message;

/* ---- codec --------------------------------------------------------------------------------------------------- */

typedef struct {
    uint8_t number, flags;
    uint16_t session;
    uint32_t seq;
    uint8_t size;
    uint8_t payload[GB_MAX_PAYLOAD];
} gb_frame;

typedef struct {
    uint8_t piece[GB_MAX_ENCODED];
    size_t used;
    bool skipping;
    uint32_t good, corrupt;
} gb_decoder;

typedef enum { GB_OK, GB_UNKNOWN_NUMBER, GB_MALFORMED } gb_result;

uint32_t gb_crc32(const uint8_t *data, size_t size);

/* Bytes for the wire, zero to zero; returns how many. */
size_t gb_encode_frame(const gb_frame *frame, uint8_t out[GB_MAX_WIRE]);

/* One more byte from the line; true when it completed a good frame. */
bool gb_decoder_push(gb_decoder *decoder, uint8_t byte, gb_frame *frame);

/* Payload of a message; returns its size, or -1 when a value does not fit. */
int gb_pack(const gb_message *message, uint8_t payload[GB_MAX_PAYLOAD]);

/* Message of a payload; views point into the payload. */
gb_result gb_unpack(uint8_t number, const uint8_t *payload, size_t size, gb_message *message);

typedef struct {
    uint32_t h[8];
    uint64_t bytes;
    uint8_t block[64];
} gb_sha256;

void gb_sha256_start(gb_sha256 *sha);
void gb_sha256_add(gb_sha256 *sha, const uint8_t *data, size_t size);
void gb_sha256_end(gb_sha256 *sha, uint8_t digest[32]);

/* ---- what survives ------------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t seq;
    uint8_t number, size;
    uint8_t payload[GB_MAX_PAYLOAD];
} gb_queued;

/* Retained RAM: the queue and the position in the host's queue. Zeroed memory with a random stream is a fresh start.
 * Each change takes effect by one aligned store, so a crash between any two instructions leaves it whole. */
typedef struct {
    uint32_t stream; /* never 0 */
    volatile uint32_t next_seq;
    volatile uint32_t base_seq; /* oldest entry not committed by the host */
    volatile uint32_t peer_stream;
    volatile uint32_t peer_committed;
    gb_queued queue[GB_QUEUE];
} gb_retained;

/* The boot loader's record; written as a whole, atomically (two pages with a counter will do). */
typedef struct {
    uint8_t active; /* slot that runs unless a trial is due */
    uint8_t trial, tried, reverted;
    uint32_t update, size, staged;
    uint8_t sha256[32];
    char version[33];      /* of the image being staged */
    char versions[2][33];  /* of the slots */
} gb_boot_record;

/* What the boot loader calls: which slot to start now, and GB_SLOTSTATE_CONFIRMED, _TESTING or _REVERTED.
 * Save the record afterwards, before the jump. */
uint8_t gb_boot_select(gb_boot_record *record, uint8_t *state);

/* ---- device -------------------------------------------------------------------------------------------------- */

typedef struct {
    void *user;
    void (*write)(void *user, const uint8_t *data, size_t size);   /* bytes for the line */
    /* Each command of the host, in order. It is committed when this returns: a crash in here brings it again, so an
     * effect that must not repeat is stored under gb_device.command_seq. */
    void (*command)(void *user, const gb_message *message);
    void (*greet)(void *user);                                     /* a host is there: report worn, mute, LED, battery */
    void (*lost)(void *user);                                      /* the host is gone */
    bool (*flash_write)(void *user, uint8_t slot, uint32_t offset, const uint8_t *data, size_t size);
    bool (*flash_read)(void *user, uint8_t slot, uint32_t offset, uint8_t *data, size_t size);
    void (*save_boot)(void *user, const gb_boot_record *record);
    void (*reboot)(void *user);                                    /* restart now */
} gb_hooks;

typedef struct {
    uint32_t unknown, malformed, misdirected, duplicates, out_of_window, strays, resent, dropped, handshakes;
} gb_stats;

typedef struct {
    uint64_t sent_us;
    uint8_t tries;
    bool seen;
} gb_flight;

typedef struct {
    gb_hooks hooks;
    gb_retained *keep;
    gb_boot_record *boot;
    gb_decoder decoder;
    gb_stats stats;
    const char *name, *board;
    uint32_t capabilities;
    uint8_t slot, slot_state;
    uint8_t percent;  /* set before each call: GB_UNKNOWN_PERCENT when not measured */
    int16_t temp_dc;  /* GB_UNKNOWN_I16 when not measured */
    /* link */
    bool line, up, refused, ack_due, restarting;
    uint32_t nonce, peer_nonce, datagram_out, datagram_in;
    bool datagram_known;
    uint16_t peer_keepalive_ms;
    uint8_t window;
    uint64_t hello_at, hello_wait, heard_at, sent_at, replied_at, restart_at;
    bool replied;
    /* sending */
    uint32_t unsent;
    gb_flight flight[GB_QUEUE];
    uint64_t srtt, deviation, wait, progress_at;
    /* receiving */
    gb_frame early[GB_WINDOW];
    bool early_used[GB_WINDOW];
    gb_frame frame; /* the one being handled */
    uint32_t command_seq; /* while the command hook runs: its number in the host's queue, 0 for a datagram */
} gb_device;

/* Power on, at time 0: `keep` and `boot` survived, `slot` and `state` come from gb_boot_select. */
void gb_init(gb_device *device, const gb_hooks *hooks, gb_retained *keep, gb_boot_record *boot, uint8_t slot,
             uint8_t state, uint32_t nonce, uint32_t capabilities, const char *name, uint8_t reason);
void gb_opened(gb_device *device, uint64_t now_us);
void gb_closed(gb_device *device, uint64_t now_us);
void gb_feed(gb_device *device, uint64_t now_us, const uint8_t *data, size_t size);
void gb_tick(gb_device *device, uint64_t now_us);
void gb_leave(gb_device *device, uint64_t now_us, uint8_t reason);

/* Report something. False: a value does not fit, the queue is full (counted), or it is not the device's to send. */
bool gb_send(gb_device *device, uint64_t now_us, const gb_message *message);
bool gb_send_raw(gb_device *device, uint64_t now_us, uint8_t number, const uint8_t *payload, uint8_t size);

/* When gb_tick is needed at the latest; GB_NEVER while nothing waits. */
uint64_t gb_deadline(const gb_device *device);

#endif
