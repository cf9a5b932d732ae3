/* SPDX-License-Identifier: MIT */
/* How the headers' uniform parameters look from Lua.
 *
 *     ilk_status f(..., err)    true, or the out values | nil, message, code
 *     T **out, record *x        a value that is returned
 *     progress                  a record or nil; a new one is returned
 *     T_opts *opts, size        options with their defaults, returned
 *     x, x_len                  a string, any bytes; nil is NULL
 *     names, name_lens, count   a table of strings
 *     signals, count            a table of handles
 *     weights; loads, load_count    a table of integers; nil is NULL
 *     out_indexes, n            n, and a table of integers that is returned
 *     int64_t *out_x            an integer that is returned
 *     size_t *out_len           makes the returned bytes a string
 *     int64_t and its kin       integers where Lua has them (5.3 and later)
 *
 * lua_error() and a failed allocation leave a wrapper by longjmp(). So what C
 * allocates is in the collector's hands before the call is made: see box.
 */

%{
static int64_t ilk_lua_to_integer(lua_State *L, int index)
{
#if LUA_VERSION_NUM >= 503
    if (lua_isinteger(L, index))
        return (int64_t)lua_tointeger(L, index);
#endif
    return (int64_t)lua_tonumber(L, index);
}

/* What does not fit is the nearest that does, never another number. */
static int32_t ilk_lua_to_int32(lua_State *L, int index)
{
    int64_t value = ilk_lua_to_integer(L, index);

    if (value > INT32_MAX)
        return INT32_MAX;
    return value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

static void ilk_lua_push_integer(lua_State *L, int64_t value)
{
#if LUA_VERSION_NUM >= 503
    lua_pushinteger(L, (lua_Integer)value);
#else
    lua_pushnumber(L, (lua_Number)value);
#endif
}

/* Push an owning userdata that owns nothing yet. */
static swig_lua_userdata *ilk_lua_box(lua_State *L, swig_type_info *type)
{
    swig_lua_userdata *box;
    static char placeholder;

    SWIG_NewPointerObj(L, &placeholder, type, 0);
    box = lua_touserdata(L, -1);
    box->ptr = NULL;
    box->own = 1;
    return box;
}

/* Leave nil, message, code as the only results. */
static int ilk_lua_push_error(lua_State *L, const ilk_error *err)
{
    lua_settop(L, 0);
    lua_pushnil(L);
    lua_pushstring(L, err->msg);
    ilk_lua_push_integer(L, err->code);
    return 3;
}

static int ilk_lua_is_bytes(lua_State *L, int index)
{
    return lua_type(L, index) == LUA_TSTRING || lua_isnil(L, index);
}

static int ilk_lua_is_names(lua_State *L, int index)
{
    return lua_istable(L, index);
}

/* Two arrays that live as long as the call; the table holds the strings. */
static size_t ilk_lua_names(lua_State *L, int index, const void ***out_names,
                            size_t **out_lens)
{
    size_t count = lua_rawlen(L, index);

    *out_names = lua_newuserdata(L, (count + 1) * sizeof **out_names);
    *out_lens = lua_newuserdata(L, (count + 1) * sizeof **out_lens);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, index, (int)i + 1);
        if (lua_type(L, -1) != LUA_TSTRING)
            luaL_error(L, "name %d is not a string", (int)i + 1);
        (*out_names)[i] = lua_tolstring(L, -1, &(*out_lens)[i]);
        lua_pop(L, 1);
    }
    return count;
}

static int ilk_lua_is_integers(lua_State *L, int index)
{
    return lua_istable(L, index) || lua_isnil(L, index);
}

static int64_t *ilk_lua_integers(lua_State *L, int index, size_t *out_count)
{
    int64_t *values;

    *out_count = 0;
    if (lua_isnil(L, index))
        return NULL;
    *out_count = lua_rawlen(L, index);
    values = lua_newuserdata(L, (*out_count + 1) * sizeof *values);
    for (size_t i = 0; i < *out_count; i++) {
        lua_rawgeti(L, index, (int)i + 1);
        if (lua_type(L, -1) != LUA_TNUMBER)
            luaL_error(L, "value %d is not a number", (int)i + 1);
        values[i] = ilk_lua_to_integer(L, -1);
        lua_pop(L, 1);
    }
    return values;
}

static size_t ilk_lua_handles(lua_State *L, int index, swig_type_info *type,
                              void ***out)
{
    size_t count = lua_rawlen(L, index);

    *out = lua_newuserdata(L, (count + 1) * sizeof **out);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, index, (int)i + 1);
        if (SWIG_ConvertPtr(L, -1, &(*out)[i], type, 0) < 0)
            luaL_error(L, "handle %d is none", (int)i + 1);
        lua_pop(L, 1);
    }
    return count;
}
%}

/* Integers. Lua's own default would hand out floats. */
%typemap(in, checkfn="lua_isnumber") int64_t, uint32_t, size_t
    %{ $1 = ($1_ltype)ilk_lua_to_integer(L, $input); %}
%typemap(in, checkfn="lua_isnumber") int, int32_t
    %{ $1 = ilk_lua_to_int32(L, $input); %}
%typemap(out) int, int32_t, int64_t, uint32_t, size_t
    %{ ilk_lua_push_integer(L, (int64_t)$1); SWIG_arg++; %}

/* A setter keeps the string's address: the caller keeps the string. */
%typemap(memberin) const char *label, const char *listen, const char *once
    %{ $1 = (char *)$input; %}
%typemap(in, checkfn="ilk_lua_is_bytes") const void *value, const void *identity
    %{ $1 = (void *)lua_tostring(L, $input); %}
%typemap(memberin) const void *value, const void *identity
    %{ $1 = $input; %}

/* Bytes. */
%typemap(in, checkfn="ilk_lua_is_bytes")
    (const void *, size_t) (size_t len = 0)
    %{ $1 = (void *)lua_tolstring(L, $input, &len); $2 = len; %}
%apply (const void *, size_t) {
    (const void *name, size_t name_len),
    (const void *node, size_t node_len),
    (const void *key, size_t key_len),
    (const void *value, size_t value_len),
    (const void *data, size_t data_len),
    (const void *token, size_t token_len),
    (const void *pattern, size_t pattern_len),
    (const void *cache, size_t cache_len),
    (const void *id, size_t id_len),
    (const void *data, size_t data_len),
    (const void *reason, size_t reason_len)
};

%typemap(in, checkfn="ilk_lua_is_names")
    (const void *const *names, const size_t *name_lens, size_t count)
    (const void **names = NULL, size_t *lens = NULL)
    %{ $3 = ilk_lua_names(L, $input, &names, &lens);
       $1 = ($1_ltype)names;
       $2 = lens; %}

%apply (const void *const *names, const size_t *name_lens, size_t count) {
    (const void *const *data, const size_t *data_lens, size_t count)
};

%typemap(in, checkfn="ilk_lua_is_names")
    (ilk_signal *const *signals, size_t count) (void **handles = NULL)
    %{ $2 = ilk_lua_handles(L, $input, SWIGTYPE_p_ilk_signal, &handles);
       $1 = ($1_ltype)handles; %}

%typemap(in, checkfn="ilk_lua_is_integers")
    const int64_t *weights (size_t count = 0)
    %{ $1 = ilk_lua_integers(L, $input, &count); %}
%typemap(in, checkfn="ilk_lua_is_integers")
    (const int64_t *loads, size_t load_count) (size_t count = 0)
    %{ $1 = ilk_lua_integers(L, $input, &count);
       $2 = count; %}

/* The caller checks n, which is room for so many. */
%typemap(in, checkfn="lua_isnumber") (int32_t *out_indexes, size_t n)
    %{ $2 = (size_t)ilk_lua_to_integer(L, $input);
       $1 = lua_newuserdata(L, ($2 + 1) * sizeof *$1); %}
%typemap(argout) (int32_t *out_indexes, size_t n)
    %{ if (result == ILK_OK) {
           lua_createtable(L, (int)$2, 0);
           for (size_t i = 0; i < $2; i++) {
               ilk_lua_push_integer(L, $1[i]);
               lua_rawseti(L, -2, (int)i + 1);
           }
           SWIG_arg++;
       } %}

/* The length of the bytes that are returned. */
%typemap(in, numinputs=0) size_t *out_len (size_t len = 0) %{ $1 = &len; %}
%typemap(argout) size_t *out_len
    %{ if (result != NULL) {
           lua_pop(L, SWIG_arg);
           lua_pushlstring(L, result, *$1);
           SWIG_arg = 1;
       } %}

/* A handle that is made: boxed before it exists. */
%typemap(in, numinputs=0) SWIGTYPE **out ($*1_ltype made = NULL)
    %{ $1 = &made; %}
%typemap(check) SWIGTYPE **out (swig_lua_userdata *box, int box_index)
    %{ box = ilk_lua_box(L, $*1_descriptor);
       box_index = lua_gettop(L); %}
%typemap(argout) SWIGTYPE **out
    %{ box$argnum->ptr = *$1;
       lua_pushvalue(L, box_index$argnum);
       SWIG_arg++; %}

/* A record that is filled: in a box as well. */
%{
static void *ilk_lua_record(lua_State *L, swig_type_info *type, size_t size)
{
    swig_lua_userdata *box = ilk_lua_box(L, type);

    box->ptr = calloc(1, size);
    if (box->ptr == NULL)
        luaL_error(L, "not enough memory");
    return box->ptr;
}
%}

%define ILK_RECORD_OUT(type, name)
%typemap(in, numinputs=0) type *name "$1 = NULL;"
%typemap(check) type *name (int box_index)
    %{ $1 = ilk_lua_record(L, $1_descriptor, sizeof *$1);
       box_index = lua_gettop(L);
       $1->size = sizeof *$1; %}
%typemap(argout) type *name
    %{ lua_pushvalue(L, box_index$argnum);
       SWIG_arg++; %}
%enddef
ILK_RECORD_OUT(ilk_client_stats, stats)
ILK_RECORD_OUT(ilk_node_stats, stats)
ILK_RECORD_OUT(ilk_notification, notification)
ILK_RECORD_OUT(ilk_server_info, info)
ILK_RECORD_OUT(ilk_kv_progress, out_progress)

/* A record that goes on: the caller's stays, and a new one is returned; nil begins. */
%typemap(check) ilk_kv_progress *progress (int box_index)
    %{ { const ilk_kv_progress *before = $1;
         $1 = ilk_lua_record(L, $1_descriptor, sizeof *$1);
         box_index = lua_gettop(L);
         if (before != NULL)
             *$1 = *before;
         $1->size = sizeof *$1; } %}
%typemap(argout) ilk_kv_progress *progress = ilk_kv_progress *out_progress;

%define ILK_OPTS_OUT(type)
%typemap(in, numinputs=0) (type *opts, size_t size)
    %{ $1 = NULL;
       $2 = sizeof *$1; %}
%typemap(check) (type *opts, size_t size)
    %{ $1 = ilk_lua_record(L, $1_descriptor, $2); %}
%typemap(argout) (type *opts, size_t size) "SWIG_arg++;"
%enddef
ILK_OPTS_OUT(ilk_barrier_opts)
ILK_OPTS_OUT(ilk_client_opts)
ILK_OPTS_OUT(ilk_latch_opts)
ILK_OPTS_OUT(ilk_lock_opts)
ILK_OPTS_OUT(ilk_election_opts)
ILK_OPTS_OUT(ilk_push_opts)
ILK_OPTS_OUT(ilk_queue_opts)
ILK_OPTS_OUT(ilk_semaphore_opts)
ILK_OPTS_OUT(ilk_signal_opts)
ILK_OPTS_OUT(ilk_event_opts)
ILK_OPTS_OUT(ilk_worker_opts)
ILK_OPTS_OUT(ilk_ring_opts)
ILK_OPTS_OUT(ilk_member_opts)

/* Numbers that are returned. */
%typemap(in, numinputs=0) int64_t *out_number (int64_t number = 0)
    %{ $1 = &number; %}
%typemap(argout) int64_t *out_number
    %{ ilk_lua_push_integer(L, *$1); SWIG_arg++; %}
%apply int64_t *out_number {
    int64_t *out_length, int64_t *out_moved, int64_t *out_selector,
    int64_t *out_receivers, int64_t *out_lost, int64_t *out_index,
    int64_t *out_left, int64_t *out_waiting, int64_t *out_reached,
    int64_t *out_parties,
    int64_t *out_id, int64_t *out_count, int64_t *out_version
};
%typemap(in, numinputs=0) int *out_more (int more = 0) %{ $1 = &more; %}
%typemap(argout) int *out_more
    %{ lua_pushboolean(L, *$1); SWIG_arg++; %}

%typemap(in, numinputs=0) int32_t *out_index (int32_t number = 0)
    %{ $1 = &number; %}
%typemap(argout) int32_t *out_index
    %{ ilk_lua_push_integer(L, *$1); SWIG_arg++; %}

%apply int32_t *out_index { int32_t *out_outcome };

%typemap(in, numinputs=0) int *out_fd (int fd = -1) %{ $1 = &fd; %}
%typemap(argout) int *out_fd
    %{ ilk_lua_push_integer(L, *$1); SWIG_arg++; %}

/* The status says which of the two shapes it is; err comes last. */
%typemap(out) ilk_status ""
%typemap(in, numinputs=0) ilk_error *err (ilk_error error)
    %{ memset(&error, 0, sizeof error);
       $1 = &error; %}
%typemap(argout) ilk_error *err
    %{ if (result != ILK_OK)
           return ilk_lua_push_error(L, $1);
       if (SWIG_arg == 0) {
           lua_pushboolean(L, 1);
           SWIG_arg = 1;
       } %}
