"""The smallest change that makes a kernel right, or a right one faster: compiled and run until one passes everything."""
