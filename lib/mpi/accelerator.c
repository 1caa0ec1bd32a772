/* SPDX-License-Identifier: MIT */
/*
 * mca_accelerator_paccel: Open MPI's calls take device pointers of libaccel.
 *
 * Open MPI asks check_addr() about each buffer, and has mem_copy() copy what lies on a device: its
 * transports see host memory only. A dev_id is N of /dev/paccelN. Where Open MPI passes
 * MCA_ACCELERATOR_NO_DEVICE_ID, it is the device of the last device pointer that it asked about. The
 * component opens a device only for memory, streams and events that Open MPI makes with it.
 */
#include "opal_config.h"

#include "opal/constants.h"
#include "opal/mca/accelerator/accelerator.h"
#include "opal/util/output.h"
#include "opal/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* N of /dev/paccelN of the last device pointer. */
static int recent = MCA_ACCELERATOR_NO_DEVICE_ID;

static int failed(const char *what, int err)
{
	say("%s: %s", what, accel_last_error());
	return err == -ENOMEM ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_ERROR;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static int check_addr(const void *addr, int *dev_id, uint64_t *flags)
{
	int node = accel_pointer_node(addr);

	*flags = 0;
	*dev_id = MCA_ACCELERATOR_NO_DEVICE_ID;
	if (node < 0)
		return 0;
	*dev_id = node;
	if (__atomic_load_n(&recent, __ATOMIC_RELAXED) != node)
		__atomic_store_n(&recent, node, __ATOMIC_RELAXED);
	return 1;
}

static int get_device(int *dev_id)
{
	*dev_id = __atomic_load_n(&recent, __ATOMIC_RELAXED);
	return OPAL_SUCCESS;
}

static int look_up(const void *addr, struct accel_pointer_info *info)
{
	int err = accel_pointer_get_info(addr, info);

	if (err)
		return failed("an address", err);
	return info->kind == ACCEL_MEMORY_DEVICE ? OPAL_SUCCESS : OPAL_ERR_NOT_FOUND;
}

static int get_address_range(int dev_id, const void *ptr, void **base, size_t *size)
{
	struct accel_pointer_info info;
	int err = look_up(ptr, &info);

	(void)dev_id;
	if (err)
		return err;
	*base = info.base;
	*size = info.size;
	return OPAL_SUCCESS;
}

static int get_buffer_id(int dev_id, const void *addr, opal_accelerator_buffer_id_t *buf_id)
{
	struct accel_pointer_info info;
	int err = look_up(addr, &info);

	(void)dev_id;
	if (err)
		return err;
	*buf_id = info.serial;
	return OPAL_SUCCESS;
}

/* ---- Devices --------------------------------------------------------------------------------- */

/* One more open of a device, which the caller undoes. */
static int open_device(int dev_id, struct accel_device **dev)
{
	char path[32];
	int err;

	if (dev_id == MCA_ACCELERATOR_NO_DEVICE_ID)
		get_device(&dev_id);
	if (dev_id == MCA_ACCELERATOR_NO_DEVICE_ID)
		return OPAL_ERR_NOT_AVAILABLE;
	snprintf(path, sizeof(path), "/dev/paccel%d", dev_id);
	err = accel_device_open_name(path, dev);
	return err ? failed(path, err) : OPAL_SUCCESS;
}

static int get_device_pci_attr(int dev_id, opal_accelerator_pci_attr_t *pci_attr)
{
	unsigned int domain, bus, device, function;
	struct accel_device_info info;
	struct accel_device *dev;
	int err = open_device(dev_id, &dev);

	if (err)
		return err;
	err = accel_device_get_info(dev, &info);
	accel_device_close(dev);
	if (err)
		return failed("a device's address", err);
	if (sscanf(info.bus_address, "%x:%x:%x.%u", &domain, &bus, &device, &function) != 4)
		return OPAL_ERR_NOT_FOUND;
	*pci_attr = (opal_accelerator_pci_attr_t){ .domain_id = domain,
						   .bus_id = bus,
						   .device_id = device,
						   .function_id = function };
	return OPAL_SUCCESS;
}

/* Open MPI asks it before it maps the memory of another process, which this component does not offer. */
static int device_can_access_peer(int *access, int dev1, int dev2)
{
	(void)dev1;
	(void)dev2;
	*access = 0;
	return OPAL_SUCCESS;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* The addresses tell the direction. */
static int mem_copy(int dest_dev_id, int src_dev_id, void *dest, const void *src, size_t size,
		    opal_accelerator_transfer_type_t type)
{
	int err = size ? accel_memory_copy(dest, src, size) : 0;

	(void)dest_dev_id;
	(void)src_dev_id;
	(void)type;
	return err ? failed("a copy", err) : OPAL_SUCCESS;
}

/* Bytes that overlap in device memory, in pieces: none is overwritten before it was read. */
static int move_inside(char *dest, const char *src, size_t size)
{
	enum { PIECE = 1 << 20 };
	size_t length = size < PIECE ? size : PIECE, done, at;
	char *piece = malloc(length);
	int err = 0;

	if (!piece)
		return OPAL_ERR_OUT_OF_RESOURCE;
	for (done = 0; done < size && !err; done += length) {
		if (size - done < length)
			length = size - done;
		at = dest < src ? done : size - done - length;
		err = accel_memory_copy(piece, src + at, length) ?:
		      accel_memory_copy(dest + at, piece, length);
	}
	free(piece);
	return err ? failed("a move", err) : OPAL_SUCCESS;
}

static int mem_move(int dest_dev_id, int src_dev_id, void *dest, const void *src, size_t size,
		    opal_accelerator_transfer_type_t type)
{
	uintptr_t to = (uintptr_t)dest, from = (uintptr_t)src;
	bool overlap = to - from < size || from - to < size;

	if (size && overlap && accel_pointer_node(dest) >= 0)
		return to == from ? OPAL_SUCCESS : move_inside(dest, src, size);
	return mem_copy(dest_dev_id, src_dev_id, dest, src, size, type);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* The memory keeps the device open. */
static int mem_alloc(int dev_id, void **ptr, size_t size)
{
	struct accel_device *dev;
	int err = open_device(dev_id, &dev);

	*ptr = NULL;
	if (err)
		return err;
	err = accel_device_memory_allocate(dev, ptr, size);
	if (!err)
		return OPAL_SUCCESS;
	err = failed("device memory", err);
	accel_device_close(dev);
	return err;
}

static int mem_release(int dev_id, void *ptr)
{
	struct accel_pointer_info info;
	int err;

	(void)dev_id;
	if (!ptr)
		return OPAL_SUCCESS;
	err = look_up(ptr, &info);
	if (err)
		return err;
	err = accel_device_memory_deallocate(info.device, ptr, info.size);
	if (err)
		return failed("device memory", err);
	accel_device_close(info.device);
	return OPAL_SUCCESS;
}

/* Likewise a registration. */
static int host_register(int dev_id, void *ptr, size_t size)
{
	struct accel_device *dev;
	int err = open_device(dev_id, &dev);

	if (err)
		return err;
	err = accel_host_register(dev, ptr, size, 0);
	if (!err)
		return OPAL_SUCCESS;
	err = failed("registering host memory", err);
	accel_device_close(dev);
	return err;
}

static int host_unregister(int dev_id, void *ptr)
{
	struct accel_pointer_info info;
	int err;

	(void)dev_id;
	err = accel_pointer_get_info(ptr, &info);
	if (err)
		return failed("registered host memory", err);
	if (info.kind != ACCEL_MEMORY_REGISTERED || info.base != ptr)
		return OPAL_ERR_NOT_FOUND;
	err = accel_host_unregister(info.device, ptr);
	if (err)
		return failed("registered host memory", err);
	accel_device_close(info.device);
	return OPAL_SUCCESS;
}

/* ---- Streams and events: objects of Open MPI, which it ends with OBJ_RELEASE() ------------------ */

struct stream {
	opal_accelerator_stream_t super;
	struct accel_device *dev;
};

struct event {
	opal_accelerator_event_t super;
	struct accel_device *dev;
};

static void stream_construct(struct stream *stream)
{
	stream->super.stream = NULL;
	stream->dev = NULL;
}

static void stream_destruct(struct stream *stream)
{
	if (stream->super.stream)
		accel_stream_destroy(stream->super.stream);
	if (stream->dev)
		accel_device_close(stream->dev);
}

static void event_construct(struct event *event)
{
	event->super.event = NULL;
	event->dev = NULL;
}

static void event_destruct(struct event *event)
{
	if (event->super.event)
		accel_event_destroy(event->super.event);
	if (event->dev)
		accel_device_close(event->dev);
}

/* The macro of Open MPI takes the name of a type, and casts the functions. */
typedef struct stream paccel_stream_t;
typedef struct event paccel_event_t;
static OBJ_CLASS_INSTANCE(paccel_stream_t, opal_accelerator_stream_t, stream_construct,
			  stream_destruct);
static OBJ_CLASS_INSTANCE(paccel_event_t, opal_accelerator_event_t, event_construct,
			  event_destruct);

static int create_stream(int dev_id, opal_accelerator_stream_t **made)
{
	struct accel_stream *handle;
	struct stream *stream;
	int err;

	*made = NULL;
	stream = OBJ_NEW(paccel_stream_t);
	if (!stream)
		return OPAL_ERR_OUT_OF_RESOURCE;
	err = open_device(dev_id, &stream->dev);
	if (err) {
		OBJ_RELEASE(stream);
		return err;
	}
	err = accel_stream_create(stream->dev, &handle);
	if (err) {
		err = failed("a stream", err);
		OBJ_RELEASE(stream);
		return err;
	}
	stream->super.stream = handle;
	*made = &stream->super;
	return OPAL_SUCCESS;
}

static int create_event(int dev_id, opal_accelerator_event_t **made)
{
	struct accel_event *handle;
	struct event *event;
	int err;

	*made = NULL;
	event = OBJ_NEW(paccel_event_t);
	if (!event)
		return OPAL_ERR_OUT_OF_RESOURCE;
	err = open_device(dev_id, &event->dev);
	if (err) {
		OBJ_RELEASE(event);
		return err;
	}
	err = accel_event_create(event->dev, &handle);
	if (err) {
		err = failed("an event", err);
		OBJ_RELEASE(event);
		return err;
	}
	event->super.event = handle;
	*made = &event->super;
	return OPAL_SUCCESS;
}

static int record_event(int dev_id, opal_accelerator_event_t *event,
			opal_accelerator_stream_t *stream)
{
	int err;

	(void)dev_id;
	if (!event || !stream)
		return OPAL_ERR_BAD_PARAM;
	err = accel_event_record(event->event, stream->stream);
	return err ? failed("recording an event", err) : OPAL_SUCCESS;
}

static int query_event(int dev_id, opal_accelerator_event_t *event)
{
	int err;

	(void)dev_id;
	if (!event)
		return OPAL_ERR_BAD_PARAM;
	err = accel_event_query(event->event);
	if (err == -EINPROGRESS)
		return OPAL_ERR_RESOURCE_BUSY;
	return err ? failed("an event", err) : OPAL_SUCCESS;
}

/* What libaccel cannot queue is complete on return, which a stream allows. */
static int mem_copy_async(int dest_dev_id, int src_dev_id, void *dest, const void *src, size_t size,
			  opal_accelerator_stream_t *stream, opal_accelerator_transfer_type_t type)
{
	int err;

	(void)dest_dev_id;
	(void)src_dev_id;
	(void)type;
	if (!stream)
		return OPAL_ERR_BAD_PARAM;
	err = size ? accel_async_memory_copy(stream->stream, dest, src, size) : 0;
	return err ? failed("a copy", err) : OPAL_SUCCESS;
}

/* ---- The component --------------------------------------------------------------------------- */

static opal_accelerator_base_module_t module = {
	.check_addr = check_addr,
	.create_stream = create_stream,
	.create_event = create_event,
	.record_event = record_event,
	.query_event = query_event,
	.mem_copy_async = mem_copy_async,
	.mem_copy = mem_copy,
	.mem_move = mem_move,
	.mem_alloc = mem_alloc,
	.mem_release = mem_release,
	.get_address_range = get_address_range,
	.host_register = host_register,
	.host_unregister = host_unregister,
	.get_device = get_device,
	.get_device_pci_attr = get_device_pci_attr,
	.device_can_access_peer = device_can_access_peer,
	.get_buffer_id = get_buffer_id,
};

/*
 * Without a device the component is not there: with another one, for another kind of device, Open MPI would
 * have one too many.
 */
static opal_accelerator_base_module_t *component_init(void)
{
	if (!openmpi_fits("mca_accelerator_paccel") || accel_device_count() <= 0)
		return NULL;
	limits_avoid();
	limits_explain();
	return &module;
}

static void component_finalize(opal_accelerator_base_module_t *mod)
{
	(void)mod;
	limits_end();
}

/* Found by this name. */
EXPORTED extern const opal_accelerator_base_component_t mca_accelerator_paccel_component;
const opal_accelerator_base_component_t mca_accelerator_paccel_component = {
	.base_version = {
		OPAL_ACCELERATOR_BASE_VERSION_1_0_0,
		.mca_component_name = "paccel",
		MCA_BASE_MAKE_VERSION(component, ACCEL_VERSION_MAJOR, ACCEL_VERSION_MINOR,
				      ACCEL_VERSION_PATCH),
	},
	.base_data = { MCA_BASE_METADATA_PARAM_NONE },
	.accelerator_init = component_init,
	.accelerator_finalize = component_finalize,
};
