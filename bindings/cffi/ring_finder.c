/* SPDX-License-Identifier: MIT */
/*
 * ring_finder.c -- Ring.get() of the Python package, as a method in C.
 *
 * A lookup takes 0.2 us, and a Python function that calls C through cffi takes
 * three times as much again. So RingFinder, the base class of Ring, has the method
 * itself. Its nodes are a tuple of the ring's handle, which cffi frees, and of the
 * names as Python gave them, by their numbers. A change puts another tuple in its
 * place. Lookup and change happen under the GIL, or under the object's lock where
 * Python has no GIL, so no thread sees a ring that another one frees.
 *
 * Keys that are neither str nor short bytes, and all errors, are left to the method
 * _find() of the subclass. It stands in _core.c behind Python.h, which cffi includes
 * with Py_LIMITED_API.
 */

typedef struct ring_finder {
    PyObject_HEAD const ilk_ring *ring; /* of the handle */
    PyObject *nodes; /* (handle, names); NULL until _settle() */
    PyObject *names; /* borrowed from it */
} ring_finder;

/* A longer key takes so long that other threads should run meanwhile, for which
 * cffi lets the GIL go. */
enum { RING_FINDER_LONGEST_KEY = 4096 };

/* A free-threaded Python locks the object; cffi leaves the limited API there. */
#ifdef Py_GIL_DISABLED
#define RING_FINDER_BEGIN(self) Py_BEGIN_CRITICAL_SECTION(self)
#define RING_FINDER_END() Py_END_CRITICAL_SECTION()
#else
#define RING_FINDER_BEGIN(self) {
#define RING_FINDER_END() }
#endif

/* The limited API that cffi asks for is the oldest, without these. All versions of
 * Python that the package supports export them. */
PyAPI_FUNC(const char *)
    PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *len);
PyAPI_FUNC(void *) PyType_GetSlot(PyTypeObject *type, int slot);

static const char *ring_finder_bytes(PyObject *key, Py_ssize_t *len)
{
    const char *data = NULL;
    char *bytes;

    if (PyUnicode_Check(key)) {
        data = PyUnicode_AsUTF8AndSize(key, len);
    } else if (PyBytes_Check(key)) {
        PyBytes_AsStringAndSize(key, &bytes, len);
        data = bytes;
    }
    PyErr_Clear(); /* text that is no UTF-8 */
    return data;
}

static PyObject *ring_finder_get(PyObject *object, PyObject *key)
{
    ring_finder *self = (ring_finder *)object;
    Py_ssize_t len = 0;
    const char *data = ring_finder_bytes(key, &len);
    int32_t node = -1;
    PyObject *name = NULL;

    RING_FINDER_BEGIN(object);
    if (data && self->ring && len <= RING_FINDER_LONGEST_KEY)
        node = ilk_ring_get(self->ring, data, (size_t)len);
    if (node >= 0) {
        name = PyTuple_GetItem(self->names, node);
        Py_XINCREF(name);
    }
    RING_FINDER_END();
    return node < 0 ? PyObject_CallMethod(object, "_find", "O", key) : name;
}

/* _settle(address of the ring, (handle, names)) */
static PyObject *ring_finder_settle(PyObject *object, PyObject *args)
{
    ring_finder *self = (ring_finder *)object;
    PyObject *address, *nodes, *names, *old;
    void *ring;

    if (!PyArg_ParseTuple(args, "OO!", &address, &PyTuple_Type, &nodes))
        return NULL;
    names = PyTuple_GetItem(nodes, 1);
    ring = names ? PyLong_AsVoidPtr(address) : NULL;
    if (!ring)
        return NULL;
    Py_INCREF(nodes);
    RING_FINDER_BEGIN(object);
    old = self->nodes;
    self->ring = ring;
    self->nodes = nodes;
    self->names = names;
    RING_FINDER_END();
    Py_XDECREF(old);
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *ring_finder_nodes(PyObject *object, void *unused)
{
    ring_finder *self = (ring_finder *)object;
    PyObject *nodes;

    (void)unused;
    RING_FINDER_BEGIN(object);
    nodes = self->nodes;
    Py_XINCREF(nodes);
    RING_FINDER_END();
    if (!nodes)
        PyErr_SetString(PyExc_AttributeError, "the ring was not initialised");
    return nodes;
}

static void ring_finder_dealloc(PyObject *object)
{
    ring_finder *self = (ring_finder *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc tp_free = (freefunc)PyType_GetSlot(type, Py_tp_free);

    Py_XDECREF(self->nodes);
    tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef ring_finder_methods[] = {
    {"get", ring_finder_get, METH_O,
     "get($self, key, /)\n--\n\n"
     "Return the node of a key.\n\n"
     "Raises: InvalidError when the ring has no nodes. Blocks: no.\n"
     "Thread: any thread."},
    {"_settle", ring_finder_settle, METH_VARARGS,
     "Let get() find nodes on this ring from now on."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef ring_finder_fields[] = {
    {"_nodes", ring_finder_nodes, NULL, "What _settle() was given.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot ring_finder_slots[] = {
    {Py_tp_doc, "The lookup of interlock.Ring."},
    {Py_tp_methods, ring_finder_methods},
    {Py_tp_getset, ring_finder_fields},
    {Py_tp_dealloc, ring_finder_dealloc},
    {0, NULL},
};

static PyType_Spec ring_finder_spec = {
    .name = "interlock._core.RingFinder",
    .basicsize = sizeof(ring_finder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = ring_finder_slots,
};

/* Add the class to the module that cffi has made. */
static PyObject *with_ring_finder(PyObject *module)
{
    PyObject *type;

    if (!module)
        return NULL;
    type = PyType_FromSpec(&ring_finder_spec);
    if (type && PyModule_AddObject(module, "RingFinder", type) == 0)
        return module;
    Py_XDECREF(type);
    Py_DECREF(module);
    return NULL;
}

/* The generated PyInit__core() returns what _cffi_init() returns. */
#define _cffi_init(name, version, context)                                     \
    with_ring_finder(_cffi_init(name, version, context))
