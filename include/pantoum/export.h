/* Selects the names that a library exports to programs.
 *
 * The libraries are compiled with hidden names, so programs can link only against names that are declared with PANTOUM_API (C++) or PT_API (C). Both
 * macros are empty on a microcontroller, and if PANTOUM_NO_EXPORT is defined. C99 and C++. Example:
 *
 *   PT_API int answer(void);
 *   int answer(void) { return 42; }
 */
#ifndef PANTOUM_EXPORT_H
#define PANTOUM_EXPORT_H

#if defined(__GNUC__) && (defined(__unix__) || defined(__APPLE__)) && !defined(PANTOUM_NO_EXPORT)
#define PANTOUM_API __attribute__((visibility("default")))
#else
#define PANTOUM_API
#endif
#define PT_API PANTOUM_API

#endif
