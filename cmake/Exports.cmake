# SPDX-License-Identifier: MIT
# ilk_export_only(TARGET SYMBOL): a loadable module that shows one name.
#
# The core is compiled into each module with its public functions visible, as
# the shared library needs them. In a module they would be bound to those of
# another copy that the process may have loaded first.
function(ilk_export_only target symbol)
    if(APPLE)
        target_link_options(${target} PRIVATE
            -Wl,-exported_symbol,_${symbol})
    else()
        set(map ${PROJECT_BINARY_DIR}/exports/${target}.map)
        file(CONFIGURE OUTPUT ${map}
            CONTENT "{ global: ${symbol}; local: *; };\n")
        # nodelete: the keeper thread runs code of the module until exit.
        target_link_options(${target} PRIVATE
            -Wl,--version-script=${map} -Wl,-z,nodelete)
    endif()
endfunction()
