DROP TABLE console_sessions;
DROP TABLE user_passwords;
