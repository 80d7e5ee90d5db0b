"""The smallest change that makes a kernel right: changes of one place, compiled and run until one passes everything."""
